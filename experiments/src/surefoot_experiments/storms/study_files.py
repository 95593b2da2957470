"""Read malformed study files: each is valid, or refused by a clear message in one line."""

from __future__ import annotations

import json
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from random import Random

import optuna

from surefoot import SurefootError
from surefoot.tune.definition.command_template import CommandTemplate
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.objective import objective_of
from surefoot.tune.measuring.setup_commands import check_programs
from surefoot.tune.measuring.supervised_process import keep_until_end
from surefoot.tune.study.compatibility import definition
from surefoot.tune.study.opened_study import create_study, open_study
from surefoot.tune.study.stored_file import locate
from surefoot_experiments.storms.malformed import PASSWORD, malformed

LONGEST_MESSAGE = 700
STUDY_FILE = "study.toml"
DEEP = 50  # one in so many valid files is used to create a study


def read_one(seed: int, folder: Path) -> str:
    """Read the study file of a seed in an empty folder: `valid`, `refused` or what went wrong."""
    random = Random(seed)
    path = folder / STUDY_FILE
    text = malformed(random)
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    try:
        _use(path, deep=random.randrange(DEEP) == 0)
    except SurefootError as error:
        return _judge(str(error))
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        shown = str(error)[:100].encode("ascii", "replace").decode()
        return f"raw {type(error).__name__} in {Path(where.filename).name}:{where.lineno}: {shown}"
    return "valid"


def read_many(seeds: range) -> Counter[str]:
    """The outcomes of many study files."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for seed in seeds:
            found[read_one(seed, folder)] += 1
            for left in folder.iterdir():
                if left.name != STUDY_FILE:
                    left.unlink()
    return found


def _use(path: Path, deep: bool) -> None:
    """What `surefoot tune` does with a study file before the first trial."""
    study_file = StudyFile.load(path)
    json.dumps(definition(study_file))
    str(study_file.scheme.risk)
    location = locate(study_file)
    environment = study_file.scheme.environment
    with keep_until_end(lambda line: None) as kept:
        objective_of(study_file, kept)
        check_programs(study_file)
    distributions = study_file.distributions
    values = {name: one.examples()[-1] for name, one in study_file.parameters.items()}
    if environment is not None:
        environment.decode(environment.draw(0))
        values |= {name: one.examples()[0] for name, one in study_file.scheme.variables.items()}
    if study_file.objective.command is not None:
        CommandTemplate.parse(study_file.objective.command).fill(values)
    if deep or location.shared:
        study = create_study(study_file).study
        trial = study.ask(fixed_distributions=distributions)
        study.tell(trial, 1.0)
        open_study(path)


def _judge(message: str) -> str:
    if PASSWORD in message:
        return "a password in a message"
    if not message.isprintable():
        return "a message of several lines, or with control characters"
    if len(message) > LONGEST_MESSAGE:
        return "a message that is too long"
    return "refused"
