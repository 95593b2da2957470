"""A finished result on disk, and whether all of it is there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot.types import InvalidInput
from surefoot_experiments import manifest as manifests
from surefoot_experiments.experiment import NUMBERS, Check
from surefoot_experiments.tables import require_trials

_TABLE = ".parquet"
_ALWAYS = (f"{NUMBERS}{_TABLE}", "page.md", "figure.svg", "figure.png")


@dataclass(frozen=True)
class Result:
    """A folder with a manifest."""

    folder: Path
    manifest: dict[str, Any]

    @classmethod
    def at(cls, folder: Path) -> Result | None:
        """The result in a folder, or None where there is no folder.

        Raises `InvalidInput` for a folder without manifest, and a manifest that is not whole.
        """
        if not folder.exists():
            return None
        content = manifests.read(folder)
        if content is None:
            raise InvalidInput(
                f"{folder} is there and is no result of `reproduce`: choose another out"
            )
        return cls(folder, content)

    @property
    def trials(self) -> int:
        """How many trials it is of."""
        return int(self.manifest["trials"])

    @property
    def rounds(self) -> int:
        """Of how many rounds each is."""
        return int(self.manifest["rounds"])

    @property
    def checks(self) -> list[Check]:
        """Its claims."""
        return [Check.of(check) for check in self.manifest["checks"]]

    @property
    def files(self) -> list[str]:
        """Names of all it consists of but the manifest.

        Of a manifest that does not list them: those that every result has, and the tables there.
        """
        listed = self.manifest.get("files")
        if listed is not None:
            return list(listed)
        tables = (path.name for path in self.folder.glob(f"*{_TABLE}"))
        return sorted({*_ALWAYS, *tables})

    @property
    def tables(self) -> list[Path]:
        """Its tables."""
        return [self.folder / name for name in self.files if name.endswith(_TABLE)]

    @property
    def strangers(self) -> list[Path]:
        """Files and folders that are in its folder, and are not of it."""
        own = {*self.files, manifests.FILE}
        return [path for path in sorted(self.folder.iterdir()) if path.name not in own]

    def require_whole(self) -> None:
        """`InvalidInput` unless every file is there, and the tables hold all trials.

        A table other than the numbers may hold the first trial alone.
        """
        remedy = f"bring it back, or delete {self.folder} to play it anew"
        for name in self.files:
            path = self.folder / name
            if not path.is_file() or path.stat().st_size == 0:
                state = "is empty" if path.is_file() else "is missing"
                raise InvalidInput(f"{path}: {state}, though the result is finished: {remedy}")
        for path in self.tables:
            others = path.stem != NUMBERS
            require_trials(path, self.trials, remedy, first_alone=others)
