"""`python -m conspectus.prompts.fake`: the fake server as a process of its own."""

import argparse
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from conspectus.prompts.fake.faults import KINDS, Faults, RetryStyle
from conspectus.prompts.fake.limits import Limits, Shape
from conspectus.prompts.fake.refused import FEATURES
from conspectus.prompts.fake.replies import Replies
from conspectus.prompts.fake.server import FakeServer
from conspectus.storage.errors import InputError

_ABOUT = """\
A server that speaks the OpenAI protocol and has no model behind it. It prints its base URL and runs until it is
interrupted. While it runs, GET /v1/fake/requests tells what it was asked (from=N: from request N on), with counts and
how many requests were in flight, and POST /v1/fake/settings changes latency, faults and limits:
  curl -d '{"latency": 0.5, "faults": {"rates": {"429": 0.1}}}' URL/fake/settings"""
_KINDS = f"""\
kinds of faults: {", ".join(KINDS)}

A script holds one rule a line, the first that fits answers:
  {{"match": "capital of France", "reply": "Paris"}}
  {{"match": "Scrooge", "status": 500, "times": 2}}
  {{"match": "report", "malformed": "fence", "latency": 0.5}}
See `python -c "import conspectus.prompts.fake.scripts as s; print(s.__doc__)"` for all its keys."""


def _latency(text: str) -> float | tuple[float, float]:
    low, dash, high = text.partition("-")
    return (float(low), float(high)) if dash else float(low)


def _fault(text: str) -> tuple[str, float]:
    kind, _, rate = text.partition("=")
    if kind not in KINDS:
        raise argparse.ArgumentTypeError(f"no fault is called {kind!r}; there are: {', '.join(KINDS)}")
    try:
        return kind, float(rate)
    except ValueError:
        raise argparse.ArgumentTypeError(f"give its probability, as in {kind}=0.1") from None


def parser() -> argparse.ArgumentParser:
    """Return the reader of the command line."""
    made = argparse.ArgumentParser(
        prog="python -m conspectus.prompts.fake",
        description=_ABOUT,
        epilog=_KINDS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    listen = made.add_argument_group("where")
    listen.add_argument("--host", default="127.0.0.1", help="address to listen on (default %(default)s)")
    listen.add_argument("--port", type=int, default=0, help="port, 0 for a free one (default)")
    listen.add_argument("--log", type=Path, metavar="FILE", help="append every request, as a line of JSON")
    says = made.add_argument_group("what it says")
    says.add_argument("--script", type=Path, metavar="FILE", help="rules, one JSON object a line; see below")
    says.add_argument(
        "--latency", type=_latency, default=0.0, metavar="S|S-S", help="seconds before a reply, or a range (default 0)"
    )
    says.add_argument("--piece", type=int, default=12, metavar="N", help="characters of a streamed piece (default 12)")
    says.add_argument("--piece-delay", type=float, default=0.0, metavar="S", help="seconds between pieces (default 0)")
    says.add_argument("--dimensions", type=int, default=256, metavar="N", help="of embeddings (default %(default)s)")
    takes = made.add_argument_group("what it takes")
    takes.add_argument("--api-key", metavar="KEY", help="the only key it takes (default: any or none)")
    takes.add_argument("--model", action="append", default=[], metavar="NAME", help="a model there is (default: any)")
    takes.add_argument(
        "--without", action="append", default=[], choices=FEATURES, metavar="FEATURE", help=", ".join(FEATURES)
    )
    takes.add_argument("--ignore-unsupported", action="store_true", help="ignore what it is without, do not refuse it")
    takes.add_argument("--context-length", type=int, metavar="N", help="most tokens of messages and reply together")
    takes.add_argument("--largest-batch", type=int, default=2048, metavar="N", help="inputs of embeddings a request")
    limits = made.add_argument_group("limits")
    limits.add_argument("--rpm", type=int, metavar="N", help="requests per minute")
    limits.add_argument("--tpm", type=int, metavar="N", help="tokens per minute")
    limits.add_argument("--in-flight", type=int, metavar="N", help="requests at the same time")
    limits.add_argument("--window", type=float, default=60.0, metavar="S", help="seconds of a minute (default 60)")
    limits.add_argument("--shape", choices=get_args(Shape), default="sliding", help="of limits (default %(default)s)")
    limits.add_argument(
        "--count", choices=("used", "asked"), default="used", help="tokens: those used, or prompt and max_tokens"
    )
    limits.add_argument("--whole-seconds", action="store_true", help="round Retry-After up to whole seconds")
    faults = made.add_argument_group("faults")
    faults.add_argument(
        "--fault", action="append", default=[], type=_fault, metavar="KIND=P", help="a fault and its probability"
    )
    faults.add_argument("--by", choices=("number", "prompt"), default="number", help="what faults are drawn by")
    faults.add_argument("--retry-after", type=float, default=1.0, metavar="S", help="told with faults (default 1)")
    faults.add_argument("--retry-style", choices=get_args(RetryStyle), default="seconds", help="how it is told")
    faults.add_argument("--slow-seconds", type=float, default=1.0, metavar="S", help="time of a slow body (default 1)")
    faults.add_argument("--seed", type=int, default=0, metavar="N", help="of faults and of drawn latencies (default 0)")
    return made


def server(arguments: Sequence[str]) -> FakeServer:
    """Return the server that the arguments describe; exits with a message where they are wrong."""
    reader = parser()
    given = reader.parse_args(arguments)
    try:
        return FakeServer(
            Replies.read(given.script) if given.script else None,
            latency=given.latency,
            faults=Faults(
                dict(given.fault),
                by=given.by,
                retry_after=given.retry_after,
                retry_style=given.retry_style,
                slow_seconds=given.slow_seconds,
            ),
            limits=Limits(
                given.rpm, given.tpm, given.in_flight, given.window, given.shape, given.count, given.whole_seconds
            ),
            seed=given.seed,
            api_key=given.api_key,
            models=given.model,
            without=given.without,
            unsupported="ignore" if given.ignore_unsupported else "refuse",
            context_length=given.context_length,
            dimensions=given.dimensions,
            largest_batch=given.largest_batch,
            piece=given.piece,
            piece_delay=given.piece_delay,
            log=given.log,
            host=given.host,
            port=given.port,
        )
    except (InputError, ValueError) as error:
        reader.error(str(error))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the server until SIGINT or SIGTERM; exit 2 for wrong arguments, 1 where it cannot listen."""
    made = server(sys.argv[1:] if arguments is None else arguments)
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    try:
        made.start()
    except OSError as error:
        sys.exit(f"The server cannot start: {error}")
    sys.stdout.write(f"{made.url}\n")
    sys.stdout.flush()
    over.wait()
    made.stop()


if __name__ == "__main__":
    main()
