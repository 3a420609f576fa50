"""`conspectus serve`: answer over HTTP."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from annotated_types import Ge
from conspectus.cli.command import Chosen, command
from conspectus.storage.errors import MissingPart, UsageError


@command(
    "Answer over HTTP.",
    "conspectus serve docs.index",
    "conspectus serve law=law.index mail=mail.index --port 8000",
    "conspectus serve docs.index --admin-token admin.token --documents docs",
    "conspectus serve docs.index --tokens tokens.yaml --host 0.0.0.0 --allow-host docs.example.org",
)
def serve(
    indexes: Annotated[list[str], typer.Argument(metavar="[NAME=]INDEX...")],
    host: str = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535)] = 8765,
    allow_host: Annotated[list[str] | None, typer.Option("--allow-host", envvar="CONSPECTUS_ALLOW_HOST")] = None,
    tokens: Path | None = None,
    admin_token: Path | None = None,
    documents: list[str] | None = None,
    max_upload: Annotated[int, Ge(1)] = 100,
    at_once: Annotated[int, typer.Option("--at-once", min=1, max=1024)] = 128,
    seconds: Annotated[float, Ge(0.1)] = 120.0,
    per_minute: Annotated[int | None, typer.Option("--questions-per-minute", min=1)] = None,
    dollars_a_day: Annotated[float | None, Ge(0.0001)] = None,
    kg: list[Path] | None = None,
    chosen: Chosen = Chosen(),
) -> None:
    """Answer questions to one or more indexes over HTTP. Without an administrator's token the server is read-only.

    Without a token, it listens only on this machine. A token of at least 16 bytes comes from the environment
    (CONSPECTUS_TOKEN) or from a file of mode 600, in which tokens can be restricted to access tags and to indexes.

    With --admin-token, the owner of that token can upload and remove documents, estimate the cost of a build, and start
    it, on the page or through the API. A build does what `conspectus add` and `conspectus remove` do.

    Args:
        indexes: Index folders or URLs; NAME=INDEX gives one a name.
        host: The address to listen at; one that others can reach needs a token.
        port: The port; 0 picks a free one.
        allow_host: An additional host name that requests may use. Repeatable; the variable separates names by spaces.
        tokens: A YAML file of tokens that only you can read (mode 600).
        admin_token: A file with the token for adding and removing documents; only you can read it (mode 600).
            [default: CONSPECTUS_ADMIN_TOKEN]
        documents: A folder whose documents the administrator can have an index follow: [NAME=]FOLDER. Repeatable.
        max_upload: Megabytes of an uploaded file; ten times that in total.
        at_once: Maximum concurrent questions; more get 429.
        seconds: Time limit of a question.
        per_minute: Default limit of a token.
        dollars_a_day: Default limit of a token; needs llm.prices.
        kg: A graph that one of the indexes was made with, so that its documents can be changed. Repeatable.
    """
    settings = chosen.load(kg=kg)
    _needs_server()
    from conspectus.pipelines.readers.remote import is_url
    from conspectus.server.admin.changes import UploadLimits
    from conspectus.server.admin.jobs import Jobs
    from conspectus.server.listen import run
    from conspectus.server.open_indexes import read_indexes
    from conspectus.server.request_checks import log_line
    from conspectus.server.tokens import CallerLimits, check_address, read_callers

    callers = read_callers(tokens, os.environ, CallerLimits(per_minute, dollars_a_day, settings.llm), admin_token)
    check_address(host, callers)
    if any("/" in name or not name for name in allow_host or ()):
        raise UsageError("--allow-host is the name of a machine, without a port or an address")
    served = read_indexes(indexes, settings)
    folders = dict(_folder_of(each, [one.name for one in served]) for each in documents or ())
    if folders and not callers.administered:
        raise UsageError("--documents needs an administrator's token: --admin-token")
    limits = UploadLimits(max_upload * 1_000_000, max_upload * 10_000_000)
    admin = None
    if callers.administered:
        for one in served:
            if is_url(str(one.place)):
                raise UsageError(f"{one.name} is in an object store, and is changed with: conspectus add --index URL")
        admin = {
            one.name: Jobs(one.name, one.root, settings, limits, log_line, folders.get(one.name, "")) for one in served
        }
    run(
        served,
        callers,
        host,
        port,
        allow_host or [],
        at_once=at_once,
        seconds=seconds,
        say=lambda line: typer.echo(line, err=True),
        admin=admin,
    )


def _folder_of(given: str, indexes: list[str]) -> tuple[str, str]:
    """Return the name of an index and its folder of documents; the name may be left out if there is one index."""
    name, equals, folder = given.partition("=")
    if not equals and len(indexes) == 1:
        return indexes[0], given
    if name not in indexes:
        raise UsageError(f"--documents {given}: name one of the indexes: NAME=FOLDER ({', '.join(indexes)})")
    return name, folder


@command(
    "Give agents tools over standard input and output (MCP).",
    "conspectus mcp docs.index",
    "conspectus mcp docs.index --access team-a",
)
def mcp(
    index: Annotated[str, typer.Argument(metavar="INDEX")],
    access: list[str] | None = None,
    chosen: Chosen = Chosen(),
) -> None:
    """Give an agent read-only tools for one index (Model Context Protocol over standard input and output).

    The agent's program starts this command. With --access, the tools see only what the tags permit. Agents on the
    network can use the server: conspectus serve has the same tools at /mcp.

    Args:
        index: The index folder, or a URL.
    """
    settings = chosen.load()
    _needs_server()
    from conspectus.server.listen import run_stdio
    from conspectus.server.open_indexes import Served

    run_stdio(Served("index", index, settings), None if access is None else tuple(access))


def _needs_server() -> None:
    missing = [name for name in ("fastapi", "uvicorn", "prometheus_client", "mcp") if find_spec(name) is None]
    if missing:
        raise MissingPart(f"the server needs {', '.join(missing)}: pip install 'conspectus[server]'")
