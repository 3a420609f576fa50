"""The command line as `python -m conspectus.cli`."""

from conspectus.cli.program import main

main()
