"""A model server for tests: it speaks the OpenAI protocol, needs no model, and fails on request.

    from conspectus.prompts.fake import FakeServer, Faults, Limits

    with FakeServer("Paris", latency=0.2, faults=Faults({"429": 0.1}), limits=Limits(requests_per_minute=60)) as server:
        ...  # point any OpenAI client at server.url
        print(server.requests, server.measures)

`python -m conspectus.prompts.fake` runs it as a process of its own (`--help` tells how), and so does `fake_process`.
"""

from conspectus.prompts.fake.asked import FakeRequest
from conspectus.prompts.fake.faults import FaultKind, Faults
from conspectus.prompts.fake.limits import Limits
from conspectus.prompts.fake.malformed import MALFORMED, MalformedKind
from conspectus.prompts.fake.process import FakeProcess, fake_process
from conspectus.prompts.fake.recorded import Measures, Recorded
from conspectus.prompts.fake.refused import Feature
from conspectus.prompts.fake.replies import FakeReply, Replies, Rule, ToolCall, forced_choice
from conspectus.prompts.fake.server import FakeServer
from conspectus.prompts.fake.tokens import count_tokens

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
