"""The command line as `python -m conspectus.cli`."""

from conspectus.cli.main import program

program()
