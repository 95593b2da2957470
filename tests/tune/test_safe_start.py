"""Safe searches of a study: where they begin, and what to do where they cannot."""

from __future__ import annotations

import re
from pathlib import Path

from support.commands import study_writer, surefoot

SAFE = """
study = { name = "careful", direction = "minimize", rounds = 3, safe = true }
objective = { command = "sh -c 'test -e up && echo {threads}'" }
parameters = { threads = { type = "int", low = 1, high = 32DEFAULT } }
"""


def test_a_safe_search_that_is_refused_uses_up_no_round(tmp_path: Path) -> None:
    path = study_writer(tmp_path, SAFE.replace("DEFAULT", ""), "")()
    for command in ("ask", "tune", "ask", "ask"):
        assert "give every parameter a default" in surefoot(command, path, code=2)
    assert "0 of 3 rounds" in surefoot("status", path)
    path.write_text(SAFE.replace("DEFAULT", ", default = 4"))
    said = surefoot("tune", path, code=2)
    assert "every measurement has failed" in said
    (tmp_path / "up").touch()
    assert "--measured" in surefoot("tune", path, code=2)
    (number,) = re.findall(r"trial (\d+): failed", said)
    surefoot("forget", path, number, "--measured", "the server was down")
    assert "3 of 3 rounds finished" in surefoot("tune", path)
