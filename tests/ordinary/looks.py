"""Runs commands and programs in forks of a process that has imported all they need.

A request is a line of JSON: the arguments, after the path of a program or none for the command.

Run by the interpreter of an environment in which surefoot is installed.
"""

import json
import os
import runpy
import sys
import tempfile
import traceback

import optuna

import surefoot.__main__
import surefoot.algorithms
import surefoot.cli
import surefoot.integrations.optuna.sampler
import surefoot.tune.ask_tell.ask_tell
import surefoot.tune.report.page
from surefoot.tune.study.opened_study import import_model


def run(program: str, arguments: list[str], folder: str, out: int, err: int) -> None:
    """The command or a program, in this process."""
    os.chdir(folder)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    sys.argv = [program or "surefoot", *arguments]
    code: object = 0
    try:
        if program:
            runpy.run_path(program, run_name="__main__")
        else:
            surefoot.__main__.main()
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


import_model()
optuna.logging.set_verbosity(optuna.logging.WARNING)
optuna.create_study(storage="sqlite://")  # imports SQLAlchemy, and maps its tables
for line in sys.stdin:
    request = json.loads(line)
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = os.fork()
        if child == 0:
            run(**request, out=out.fileno(), err=err.fileno())
        _, status = os.waitpid(child, 0)
        out.seek(0), err.seek(0)
        found = {"code": os.waitstatus_to_exitcode(status), "out": out.read(), "err": err.read()}
    print(json.dumps(found), flush=True)
