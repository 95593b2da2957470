"""What the world drew, read from what an objective gives back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from surefoot.tune.environment_section import Variable


@dataclass(frozen=True)
class Observed:
    """The variables that an objective reports beside its measurement."""

    variables: Mapping[str, Variable]

    def split(self, text: str) -> tuple[dict[str, str], str]:
        """The last `name=...` line of each variable, and the text without all such lines."""
        names = "|".join(map(re.escape, self.variables))
        found, rest = {}, []
        for line in text.splitlines():
            match = re.fullmatch(rf"\s*({names})\s*=\s*(.*?)\s*", line)
            if match is None:
                rest.append(line)
            else:
                found[match[1]] = match[2]
        return found, "\n".join(rest)

    def checked(self, given: Mapping[str, Any], missing: str) -> dict[str, float] | str:
        """The values as numbers, or why they cannot be used.

        `missing` says, with the name in place of `{}`, what was expected where there is none.
        """
        values = {}
        for name, variable in self.variables.items():
            if name not in given:
                return missing.format(name)
            try:
                value = float(given[name])
                wanted = variable.wrong(value)
            except (TypeError, ValueError, OverflowError):
                wanted = "a number"
            if wanted is not None:
                return f"the environment's {name} is {given[name]!s:.100}, expected {wanted}"
            values[name] = variable.taken(value)
        return values
