"""Run the command line."""

import atexit
import io
import os
import signal
import sys
import threading
from importlib import import_module

import typer
from conspectus.cli.app import COMPLETION, app, complain
from conspectus.storage.errors import ConspectusError

INTERRUPTED = 130
RUN_AGAIN = "interrupted; run the same command again to go on"
MODULES = {
    "init": "init",
    "index": "index",
    "maintain": "add remove prune correct check rollback",
    "ask": "ask retrieve explain methods chat",
    "inspect": "status diff documents document passages filters entities entity neighbours timeline conflicts reports "
    "report outline verify doctor",
    "query": "query sql",
    "serve": "serve mcp",
    "exchange": "import-graphrag export",
    "evaluate": "evaluate questions judge",
    "train": "train",
    "demo": "demo completion",
}
"""The commands of each module, in the order of --help."""
_SMALL_PRODUCTS = frozenset("ask retrieve explain status reports report outline entities documents".split())
"""Commands that use one thread for matrix products, or have none: OpenBLAS takes .03 to .05 s to start others."""


def register(command: str = "") -> typer.Typer:
    """Import the module of a command, or all modules, and return the program.

    Importing one module takes a third of the time of `conspectus status`; all of them are needed only for --help.
    """
    of_command = [module for module, commands in MODULES.items() if command in commands.split()]
    for module in of_command or MODULES:
        import_module(f"conspectus.cli.{module}")
    order = [f"conspectus.cli.{module}" for module in MODULES]
    app.registered_commands.sort(key=lambda known: order.index(known.callback.__module__) if known.callback else 0)
    return app


def program() -> None:
    """Run the command line as a whole process, which Ctrl-C ends with status 130 or, at its very end, not at all."""
    if _SMALL_PRODUCTS.intersection(sys.argv[1:2]):
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        main()
    except SystemExit as ended:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if not isinstance(ended.code, int):
            raise
        # The interpreter would take .2 s to free the modules of a question. After Ctrl-C it would also wait for threads
        # of the work that was given up, and kill itself by the signal (status -2) if that came while `exec` made a
        # class.
        if ended.code != INTERRUPTED:
            threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as it would
        atexit._run_exitfuncs()
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):
            raise ended from None
        os._exit(ended.code)


def main() -> None:
    """Run the command line; a user's mistake is one line on stderr and an exit status, never a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A character that the terminal cannot show is written as an escape; in JSON that is the same character.
        sys.stdout.reconfigure(errors="backslashreplace")
    if COMPLETION in os.environ:
        import_module("conspectus.cli.demo").prepare()
    try:
        register(sys.argv[1] if len(sys.argv) > 1 else "")(prog_name="conspectus")
    except ConspectusError as error:
        _fail(str(error), error.exit_status)
    except OSError as error:
        _fail(f"{error.filename or ''}: {error.strerror or error}".lstrip(": "), ConspectusError.exit_status)
    except KeyboardInterrupt:
        _fail(RUN_AGAIN, INTERRUPTED)
    except SystemExit as ended:
        if ended.code == INTERRUPTED:
            complain(RUN_AGAIN)
        raise


def _fail(message: str, exit_status: int) -> None:
    complain(message)
    sys.exit(exit_status)
