"""`conspectus serve`: answer over HTTP."""

import os
from pathlib import Path
from typing import Annotated

import typer

from conspectus.cli.app import AccessOption, SetOption, SettingsOption, app, chosen_settings, examples
from conspectus.storage.errors import MissingPart, UsageError


@app.command(
    short_help="Answer over HTTP.",
    epilog=examples(
        "conspectus serve docs.index",
        "conspectus serve law=law.index mail=mail.index --port 8000",
        "conspectus serve docs.index --tokens tokens.yaml --host 0.0.0.0 --allow-host docs.example.org",
    ),
)
def serve(
    indexes: Annotated[
        list[str], typer.Argument(help="Index folders; NAME=FOLDER gives one a name.", metavar="[NAME=]INDEX...")
    ],
    host: Annotated[
        str, typer.Option("--host", help="The address to listen at; others than this machine's need a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 takes a free one.")] = 8765,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host", help="A further name that requests may call this server by. Repeatable.", metavar="NAME"
        ),
    ] = None,
    tokens: Annotated[
        Path | None,
        typer.Option("--tokens", help="A YAML file of tokens, readable by you only (mode 600).", metavar="FILE"),
    ] = None,
    at_once: Annotated[int, typer.Option("--at-once", min=1, max=256, help="Questions that run at once.")] = 8,
    waiting: Annotated[int, typer.Option("--waiting", min=0, help="Questions that may wait; then 429.")] = 64,
    seconds: Annotated[float, typer.Option("--seconds", min=0.1, help="The longest time of a question.")] = 120.0,
    per_minute: Annotated[
        int | None, typer.Option("--questions-per-minute", min=1, help="For each token that has no limit of its own.")
    ] = None,
    settings: SettingsOption = None,
    overrides: SetOption = None,
) -> None:
    """Answer questions to one or several indexes over HTTP. Nothing can be changed through the server.

    Without a token it listens to this machine only. A token of at least 16 bytes comes from the environment
    (CONSPECTUS_TOKEN) or from a file of mode 600, in which tokens can be restricted to access tags and to indexes.
    """
    chosen = chosen_settings(settings, overrides)
    _needs_server()
    from conspectus.server.callers import check_address, read_callers
    from conspectus.server.run import run
    from conspectus.server.served import read_indexes

    callers = read_callers(tokens, os.environ, per_minute)
    check_address(host, callers)
    if any("/" in name or not name for name in allow_host or ()):
        raise UsageError("--allow-host is the name of a machine, without a port or an address")
    run(
        read_indexes(indexes, chosen),
        callers,
        host,
        port,
        allow_host or [],
        at_once=at_once,
        waiting=waiting,
        seconds=seconds,
        say=lambda line: typer.echo(line, err=True),
    )


@app.command(
    short_help="Give agents tools over standard input and output (MCP).",
    epilog=examples("conspectus mcp docs.index", "conspectus mcp docs.index --access team-a"),
)
def mcp(
    index: Annotated[Path, typer.Argument(help="The index folder.", metavar="INDEX")],
    access: AccessOption = None,
    settings: SettingsOption = None,
    overrides: SetOption = None,
) -> None:
    """Give an agent read-only tools over one index, by the Model Context Protocol over standard input and output.

    The agent's program starts this command. With --access the tools see only what the tags permit. Agents on the
    network use the server: conspectus serve has the same tools at /mcp.
    """
    chosen = chosen_settings(settings, overrides)
    _needs_server()
    from conspectus.server.run import run_stdio
    from conspectus.server.served import Served

    run_stdio(Served("index", index, chosen), None if access is None else tuple(access))


def _needs_server() -> None:
    from importlib.util import find_spec

    missing = [name for name in ("fastapi", "uvicorn", "prometheus_client", "mcp") if find_spec(name) is None]
    if missing:
        raise MissingPart(f"the server needs {', '.join(missing)}: pip install 'conspectus[server]'")
