"""The command line: `conspectus --help` teaches it.

Results go to stdout; progress, warnings and errors to stderr. With --json stdout is one JSON document.

Exit statuses: 0 success, 1 unexpected error, 2 wrong usage (option, setting, method), 3 unreadable input,
4 unusable index, 5 published but with more failures than build.failure_threshold, 6 a model is needed,
7 something is not installed, 8 a model's server gave no usable answer, 9 the budget is reached, 130 interrupted.
"""

from conspectus.cli.main import main, program, register

__all__ = ["main", "program", "register"]
