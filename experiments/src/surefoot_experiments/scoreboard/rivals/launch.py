"""Run as a script by the Python of any environment: serve the optimiser that a module creates.

Only this package is made importable, not what else its folder contains.
"""

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

PACKAGE = Path(__file__).parents[2]


def main() -> None:
    """Serve the module named by the first argument."""
    spec = spec_from_file_location(
        PACKAGE.name, PACKAGE / "__init__.py", submodule_search_locations=[str(PACKAGE)]
    )
    assert spec is not None
    assert spec.loader is not None
    package = module_from_spec(spec)
    sys.modules[PACKAGE.name] = package
    spec.loader.exec_module(package)
    rivals = f"{PACKAGE.name}.scoreboard.rivals"
    import_module(f"{rivals}.serving").serve(f"{rivals}.{sys.argv[1]}")


if __name__ == "__main__":
    main()
