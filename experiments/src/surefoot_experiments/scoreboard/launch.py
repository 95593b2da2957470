"""Run as a script by the Python of any environment: call `main` of a module of the scoreboard.

The first argument is the module, those that follow are passed on. Only this package is made
importable, not what else its folder contains.
"""

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def main() -> None:
    """Run the module named by the first argument."""
    spec = spec_from_file_location(
        PACKAGE.name, PACKAGE / "__init__.py", submodule_search_locations=[str(PACKAGE)]
    )
    assert spec is not None
    assert spec.loader is not None
    package = module_from_spec(spec)
    sys.modules[PACKAGE.name] = package
    spec.loader.exec_module(package)
    import_module(f"{PACKAGE.name}.scoreboard.{sys.argv[1]}").main(*sys.argv[2:])


if __name__ == "__main__":
    main()
