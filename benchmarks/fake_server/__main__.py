"""`python -m benchmarks.fake_server`: the fake server as a separate process."""

import argparse
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from conspectus.storage.errors import InputError

from benchmarks.fake_server.faults import FAULT_KINDS, Faults, Limits
from benchmarks.fake_server.habits import HABITS
from benchmarks.fake_server.plausible import Plausible
from benchmarks.fake_server.replies import Replies
from benchmarks.fake_server.server import FakeServer

_SPOILERS: Mapping[str, Callable[[str], str | None]] = {
    "empty": lambda _: "",
    "truncated": lambda text: text[: len(text) * 2 // 3],
    "refusal": lambda _: "I'm sorry, but I can't assist with that request.",
}
_ABOUT = """\
A server that speaks OpenAI's protocol without a model. It prints its base URL and runs until interrupted.
GET /v1/fake/requests returns every request so far (from=N: from request N on) and totals over them."""
_MORE = f"""\
kinds of faults: {", ".join((*FAULT_KINDS, *_SPOILERS))}

A script holds one rule a line; the first match answers. Where there is none the reply is plausible: records, reports
and answers made by rules from what the prompt shows, in the manner of a family of models (--habits):
  {{"match": "capital of France", "reply": "Paris"}}
  {{"match": "Ashgrove", "status": 500, "times": 2}}
  {{"match": "report", "reply": {{"title": "A town"}}, "latency": 0.5}}"""


def _fault(text: str) -> tuple[str, float]:
    kind, _, rate = text.partition("=")
    try:
        return kind, float(rate)
    except ValueError:
        raise argparse.ArgumentTypeError(f"give its probability, as in {kind}=0.1") from None


def server(arguments: Sequence[str]) -> FakeServer:
    """Return the server that the arguments describe; exit with a message if they are invalid."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.fake_server",
        description=_ABOUT,
        epilog=_MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="address to listen on (default %(default)s)")
    add("--port", type=int, default=0, help="port, 0 for a free one (default)")
    add("--script", type=Path, metavar="FILE", help="rules, one JSON object a line; see below")
    add("--habits", choices=HABITS, default="none", help="whose manner of replying it has (default %(default)s)")
    add("--latency", type=float, default=0.0, metavar="S", help="seconds before a reply (default 0)")
    add("--dimensions", type=int, default=256, metavar="N", help="length of embeddings (default %(default)s)")
    add("--api-key", metavar="KEY", help="the only key it accepts (default: any or none)")
    add("--fault", action="append", default=[], type=_fault, metavar="KIND=P", help="a fault and its probability")
    add("--seed", type=int, default=0, metavar="N", help="seed of the faults (default 0)")
    add("--rpm", type=int, metavar="N", help="requests per minute")
    add("--tpm", type=int, metavar="N", help="tokens per minute")
    add("--in-flight", type=int, metavar="N", help="requests at the same time")
    add("--retry-after", type=float, default=1.0, metavar="S", help="seconds to wait after a 429 (default 1)")
    add("--gleaned", type=float, default=0.0, metavar="P", help="share of texts of which gleaning finds more")
    add("--forgets", action="store_true", help="keep no body of a request")
    add("--window", type=float, default=60.0, metavar="S", help="seconds in a minute (default 60)")
    given = parser.parse_args(arguments)
    try:
        return FakeServer(
            Replies.read(given.script, Plausible(given.habits)) if given.script else None,
            habits=given.habits,
            latency=given.latency,
            faults=Faults(dict(given.fault), retry_after=given.retry_after, spoilers=_SPOILERS),
            limits=Limits(given.rpm, given.tpm, given.in_flight, given.window),
            seed=given.seed,
            api_key=given.api_key,
            dimensions=given.dimensions,
            gleaned=given.gleaned,
            forgets=given.forgets,
            host=given.host,
            port=given.port,
        )
    except (InputError, ValueError) as error:
        parser.error(str(error))


def main() -> None:
    """Run the server until SIGINT or SIGTERM; exit 2 for invalid arguments, 1 if it cannot listen."""
    fake = server(sys.argv[1:])
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    try:
        fake.start()
    except OSError as error:
        sys.exit(f"cannot start the server: {error}")
    sys.stdout.write(f"{fake.url}\n")
    sys.stdout.flush()
    over.wait()
    fake.stop()


if __name__ == "__main__":
    main()
