"""`python -m surefoot_experiments`: the command line."""

from surefoot_experiments.cli import main

if __name__ == "__main__":
    main()
