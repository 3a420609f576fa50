"""A server of OpenAI's protocol without a model, for tests and benchmarks: plausible replies, and failures on request.

    from benchmarks.fake_server import FakeServer, Faults, Limits

    with FakeServer("Paris", latency=0.2, faults=Faults({"429": 0.1}), limits=Limits(requests_per_minute=60)) as server:
        ...  # point any OpenAI client at server.url
        print(server.requests, server.measures)

`python -m benchmarks.fake_server --help` and `fake_process` run the server as a separate process.
"""

from benchmarks.fake_server.faults import FaultKind, Faults, Limits
from benchmarks.fake_server.habits import HABITS, Habits
from benchmarks.fake_server.plausible import Plausible
from benchmarks.fake_server.records import FakeProcess, Measures, Recorded, fake_process
from benchmarks.fake_server.replies import FakeReply, FakeRequest, Replies, Rule, made_up, prose
from benchmarks.fake_server.server import FakeServer

__all__ = [
    "HABITS",
    "FakeProcess",
    "FakeReply",
    "FakeRequest",
    "FakeServer",
    "FaultKind",
    "Faults",
    "Habits",
    "Limits",
    "Measures",
    "Plausible",
    "Recorded",
    "Replies",
    "Rule",
    "fake_process",
    "made_up",
    "prose",
]
