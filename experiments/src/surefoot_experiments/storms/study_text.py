"""The study file of the storms that start runs of `surefoot tune`."""


def study_text(tables: str, *, rounds: int, storage: str, name: str = "storm") -> str:
    """The text of a study file.

    Args:
        tables: Its table `[parameters]`, of `x` and `mode`, and those after it.
        rounds: Number of rounds.
        storage: URL of the storage.
        name: Name of the study.
    """
    return f"""
[study]
name = "{name}"
direction = "minimize"
rounds = {rounds}
storage = "{storage}"

[objective]
command = "sh bench.sh {{x}} {{mode}}"
timeout = 20
{tables}"""
