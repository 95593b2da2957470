"""Runs commands in forks of a process that has imported all they need, one request a line.

Run by the interpreter of an environment in which surefoot is installed.
"""

import json
import os
import sys
import tempfile
import traceback

import surefoot.__main__
import surefoot.tune.report.page
from surefoot.tune.study.opened_study import import_model


def run(arguments: list[str], folder: str, out: int, err: int) -> None:
    """The command, in this process."""
    os.chdir(folder)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    sys.argv = ["surefoot", *arguments]
    code: object = 0
    try:
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
for line in sys.stdin:
    request = json.loads(line)
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = os.fork()
        if child == 0:
            run(request["arguments"], request["folder"], out.fileno(), err.fileno())
        _, status, used = os.wait4(child, 0)
        out.seek(0), err.seek(0)
        found = {"code": os.waitstatus_to_exitcode(status), "out": out.read(), "err": err.read()}
        if "LOOKS" in os.environ:
            with open(os.environ["LOOKS"], "a") as file:
                print(f"{used.ru_utime + used.ru_stime:.2f}", request["arguments"], file=file)
    print(json.dumps(found), flush=True)
