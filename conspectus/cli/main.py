"""Running the command line."""

import io
import sys

from conspectus.cli import (
    ask,
    chat,
    evaluate,
    explain,
    export,
    import_index,
    index,
    init,
    inspect,
    maintain,
    query,
    resolve,
    serve,
    train,
)
from conspectus.cli.app import app, complain
from conspectus.storage.errors import ConspectusError

INTERRUPTED = 130
COMMANDS = (
    init,
    index,
    maintain,
    resolve,
    ask,
    explain,
    chat,
    inspect,
    query,
    serve,
    import_index,
    export,
    evaluate,
    train,
)
"""Each module adds its commands to the program; this is the order that --help shows."""

_ORDER = [module.__name__ for module in COMMANDS]
app.registered_commands.sort(key=lambda command: _ORDER.index(command.callback.__module__) if command.callback else 0)


def main() -> None:
    """Run the command line; a user's mistake is one line on stderr and an exit status, never a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that cannot show a sign gets its number; in JSON that is the sign again.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app()
    except ConspectusError as error:
        _fail(str(error), error.exit_status)
    except OSError as error:
        _fail(f"{error.filename or ''}: {error.strerror or error}".lstrip(": "), ConspectusError.exit_status)
    except SystemExit as ended:
        if ended.code == INTERRUPTED:
            complain("interrupted; run the same command again to go on")
        raise


def _fail(message: str, exit_status: int) -> None:
    complain(message)
    sys.exit(exit_status)
