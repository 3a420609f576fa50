"""A model that counts instead of calling a server: a cached reply costs nothing, any other has the usual length.

The lengths are those of 84 recorded extractions by GPT-4o, two for each of 42 chunks of a story with 1,195 tokens on
average (`python -m benchmarks.estimate prior DATA`): the first reply has 17 records of 43.5 tokens, and the second .67
times as many. Nine English corpora name .8 to 2.4 times as many things as the story, so 1.6 times as much is assumed.
A quarter of the tokens gives half the records: in the same text 600-token chunks find almost twice the entities of
2,400-token chunks (Edge et al. 2024, section 3.1.1). So a reply grows with the square root of the text.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import sqrt

from conspectus.pipelines.steps.extract.openie import NER, TRIPLES
from conspectus.prompts.client.capabilities import requested_schema
from conspectus.prompts.client.client import sendable
from conspectus.prompts.client.reply_cache import ReplyMemo, reply_key
from conspectus.prompts.language_model import Reply, Request
from conspectus.storage.memo import Memo
from conspectus.storage.settings import LlmSettings
from conspectus.storage.text.tokens import count_each

PER_ROOT = {"extract": 33.7, "glean": 22.6, "claims": 31.4, NER: 2.2, TRIPLES: 6.0}
"""Tokens of a reply for the square root of the tokens of its chunk: 17 x 43.5 x 1.6 / sqrt(1195) for `extract`.

For claims it is that of 9.7 records of 112 tokens without the 1.6; for OpenIE 15 names of 5 tokens and as many triples
of 14 tokens, as records have one name or two."""
FIXED = {"glean_check": 9.0, "claims_glean": 4.0}
"""Tokens of replies whose length does not depend on the text: yes or no, and the sign that nothing was missed."""
SAYS_YES = 0.45
"""Share of chunks for which the model says that it missed something."""
ENOUGH = 5
"""Cached replies of a step that replace these figures."""
_TEXTS = {
    "glean_check": '{"answer": "Yes"}',
    "claims": '("claim"<|>"A"<|>"NONE"<|>"a"<|>"TRUE"<|>"NONE"<|>"NONE"<|>"WORDS"<|>"A")<|COMPLETE|>',
    "claims_glean": "<|COMPLETE|>",
    NER: '{"entities": ["WORDS"]}',
    TRIPLES: '{"triples": [["a", "WORDS", "b"]]}',
}
_RECORD = '("entity"<|>"A"<|>"thing"<|>"WORDS")<|COMPLETE|>'
"""Replies with one part, whose words make up the length, because later prompts contain the reply."""


@dataclass(slots=True)
class Tally:
    """The sums over the requests of one step: those to be paid for, and those with a cached reply.

    Calls are an expected number.
    """

    calls: float = 0.0
    prompt_tokens: float = 0.0
    usual_tokens: float = 0.0
    remembered: int = 0
    remembered_tokens: int = 0

    @property
    def completion_tokens(self) -> float:
        """The expected tokens of the replies to be paid for: as long as the cached ones, if there are enough."""
        if self.remembered < ENOUGH:
            return self.usual_tokens
        return self.calls * self.remembered_tokens / self.remembered


class CountingModel:
    """Answers requests about chunks from the cache, or else with a text of the usual length, and counts both."""

    def __init__(self, settings: LlmSettings, memo: Memo, chunk_tokens: Mapping[str, int]) -> None:
        """`chunk_tokens` are the tokens of the chunks by the digests of their texts."""
        self._settings = settings
        self._memo = ReplyMemo(memo)
        self._chunk_tokens = chunk_tokens
        self.by_step = defaultdict[str, Tally](Tally)
        self.new: set[str] = set()
        """Digests of the chunks with a reply that is not cached."""

    async def complete(self, request: Request) -> Reply:
        """Return a reply and count it."""
        step, tally = request.step, self.by_step[request.step]
        name = self._settings.step_models.get(step, self._settings.model)
        most = self._settings.max_output_tokens
        most = min(request.max_tokens or most, most)
        reply = await self._remembered(request, name, most)
        if reply is not None:
            tally.remembered += 1
            tally.remembered_tokens += reply.completion_tokens
            return reply
        self.new.update(request.sources)
        # Every answer here is yes, so a gleaning counts as much as a yes is to be expected.
        replies = sum(message.role == "assistant" for message in request.messages)
        expected = SAYS_YES ** {"glean": replies, "glean_check": replies - 1}.get(step, 0)
        tally.calls += expected
        tally.prompt_tokens += expected * sum(_tokens(message.content) for message in request.messages)
        usual = FIXED.get(step) or PER_ROOT[step] * sqrt(max(self._chunk_tokens[request.sources[0]], 1))
        written = min(round(usual), most)
        tally.usual_tokens += expected * written
        return Reply(_TEXTS.get(step, _RECORD).replace("WORDS", "word " * written), name, "stop", 0, written)

    async def remember(self, request: Request, reply: Reply) -> None:
        """Do nothing: an estimate writes no cache."""

    async def _remembered(self, request: Request, name: str, most: int) -> Reply | None:
        if request.fresh:
            return None
        messages = tuple(replace(message, content=sendable(message.content)) for message in request.messages)
        request = replace(request, messages=messages)
        return await self._memo.get(reply_key(request, name, most, requested_schema(request)))


@lru_cache(1 << 12)
def _tokens(text: str) -> int:
    """Return the tokens of a message, cached: all conversations of a step begin with the same one."""
    return count_each([text])[0]
