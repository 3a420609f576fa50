"""Fake models for tests: no model, no network beyond this machine, plausible replies, and failures on request.

`FakeServer` speaks OpenAI's protocol behind a real socket; `ScriptedModel` is a `LanguageModel` without one.

    from conspectus.prompts.fake import FakeServer, Faults, Limits

    with FakeServer("Paris", latency=0.2, faults=Faults({"429": 0.1}), limits=Limits(requests_per_minute=60)) as server:
        ...  # point any OpenAI client at server.url
        print(server.requests, server.measures)

`python -m conspectus.prompts.fake --help` and `fake_process` run the server as a separate process.
"""

from conspectus.prompts.fake.faults import FaultKind, Faults, Limits
from conspectus.prompts.fake.habits import HABITS, Habits
from conspectus.prompts.fake.plausible import Plausible
from conspectus.prompts.fake.records import FakeProcess, Measures, Recorded, fake_process
from conspectus.prompts.fake.replies import FakeReply, FakeRequest, Replies, Rule, made_up, prose
from conspectus.prompts.fake.scripted import ScriptedModel
from conspectus.prompts.fake.server import FakeServer

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
    "ScriptedModel",
    "fake_process",
    "made_up",
    "prose",
]
