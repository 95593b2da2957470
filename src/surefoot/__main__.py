"""`python -m surefoot`: the command line."""

from surefoot.cli import app

app(prog_name="surefoot")
