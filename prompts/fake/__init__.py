"""A model server for tests: it speaks the OpenAI protocol, needs no model, and fails on request.

    from prompts.fake import FakeServer, Faults, Limits

    with FakeServer("Paris", latency=0.2, faults=Faults({"429": 0.1}), limits=Limits(requests_per_minute=60)) as server:
        ...  # point any OpenAI client at server.url
        print(server.requests, server.measures)

`python -m prompts.fake` runs it as a process of its own (`--help` tells how), and so does `fake_process`.
"""

from prompts.fake.asked import FakeRequest
from prompts.fake.faults import FaultKind, Faults
from prompts.fake.limits import Limits
from prompts.fake.malformed import MALFORMED, MalformedKind
from prompts.fake.process import FakeProcess, fake_process
from prompts.fake.recorded import Measures, Recorded
from prompts.fake.refused import Feature
from prompts.fake.replies import FakeReply, Replies, Rule, ToolCall, forced_choice
from prompts.fake.server import FakeServer
from prompts.fake.tokens import count_tokens

__all__ = [
    "MALFORMED",
    "FakeProcess",
    "FakeReply",
    "FakeRequest",
    "FakeServer",
    "FaultKind",
    "Faults",
    "Feature",
    "Limits",
    "MalformedKind",
    "Measures",
    "Recorded",
    "Replies",
    "Rule",
    "ToolCall",
    "count_tokens",
    "fake_process",
    "forced_choice",
]
