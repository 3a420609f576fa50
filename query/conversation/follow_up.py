"""Follow-up questions: rewriting a question with its conversation into a standalone one, before retrieval.

Every method receives the *standalone* question, for retrieval as well as for the answer. With a language model, one
call rewrites the question. Without one, the topics of the last turns are appended to an incomplete question in
brackets: "Who directed it? (Cold Harbour; Lanterns)". A complete question is not changed. An answer without a model
tries each topic alone first ("Who directed it? (Cold Harbour)"), likeliest first: the text decides what "it" is, by the
topic of which it says what is asked.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np
from conspectus.prompts.language_model import LanguageModel, Request
from conspectus.prompts.render import messages
from conspectus.prompts.replies.structured import ask_for
from conspectus.prompts.replies.thinking import without_thinking
from conspectus.query.answering import assembling, measured
from conspectus.query.context import Context
from conspectus.query.conversation.anaphora import Refers, telling_words, wording
from conspectus.query.conversation.focus import NAMES, cited_rows, topics_meant
from conspectus.query.conversation.history import Conversation
from conspectus.query.question.linking import NamedSpan
from conspectus.query.question.question import open_question
from conspectus.query.types import Answer, Answerer, Evidence, FollowUpAnswerer, Retriever, Step, Usage
from conspectus.query.types.subgraph import decayed
from conspectus.storage.arrays import SmallInts
from conspectus.storage.errors import BadAnswer
from conspectus.storage.hashing import digest
from conspectus.storage.text.tokens import count_tokens
from pydantic import BaseModel

REWRITE = "rewrite"
STEP = "conversation"

_FEW_WORDS = 2.0
"""Most content words of a question that the last turn may complete: "and when was the premiere?"."""
_MOST_WORDS = 8
"""Most words carried over from the last question that has any."""
_LONGEST_REWRITE = 256
"""Tokens allowed beyond twice those of the original question: a longer rewriting is not a question."""
_LABEL = re.compile(r"^(?:\w+[ -]){0,3}(?:question|query|frage)\W{0,3}[:：]\W*", re.IGNORECASE)
_MARKUP = " \t\"'“”„«»*`"


@dataclass(frozen=True, slots=True)
class Shaped:
    """A standalone question and how it was derived; the question itself if nothing had to be added.

    `readings` are standalone questions about one topic each, likeliest first. `is_open`: it asks about a person whom no
    turn names.
    """

    question: str
    standalone: str
    why: str
    usage: Usage = field(default_factory=Usage)
    readings: tuple[str, ...] = ()
    is_open: bool = False

    @property
    def step(self) -> Step:
        """The step for the trace."""
        if self.standalone == self.question:
            return Step(STEP, f"asked as it is: {self.why}")
        return Step(STEP, f"asked as {self.standalone!r}: {self.why}")


class ShapedAnswerer:
    """Answers questions in the context of earlier turns. The answer's `question` is the user's original."""

    def __init__(self, context: Context, answerer: Answerer, history: Conversation) -> None:
        self._context = context
        self._answerer = answerer
        self._history = history

    async def answer(self, question: str) -> Answer:
        """Return the answer to the standalone question; the first step of the trace reports the rewriting."""
        with measured() as measure:
            shaped = await shape(self._context, self._history, question)
        shaping = measure.usage()
        answer = None
        for reading in shaped.readings:
            answer = await self._answer(reading)
            if answer.known:
                shaped = replace(shaped, standalone=reading)
                break
        if shaped.is_open:  # what is told of somebody else would be false
            with assembling(question, shaped.step.name) as assembly:
                answer = assembly.no_answer()
        elif answer is None or not answer.known:
            answer = await self._answer(shaped.standalone)
        return replace(
            answer,
            question=question,
            standalone=shaped.standalone,
            usage=answer.usage.plus(shaping),
            trace=(shaped.step, *answer.trace),
        )

    async def _answer(self, standalone: str) -> Answer:
        if isinstance(self._answerer, FollowUpAnswerer):
            kept = decayed(turn.kept for turn in self._history.turns)
            return await self._answerer.answer_after(standalone, kept)
        return await self._answerer.answer(standalone)


class ShapedRetriever:
    """Retrieves evidence for questions in the context of earlier turns."""

    def __init__(self, context: Context, retriever: Retriever, history: Conversation) -> None:
        self._context = context
        self._retriever = retriever
        self._history = history

    async def retrieve(self, question: str, k: int) -> Evidence:
        """Return up to `k` passages; the first step of the trace reports the standalone question."""
        shaped = await shape(self._context, self._history, question)
        found = await self._retriever.retrieve(shaped.standalone, k)
        return replace(found, trace=(shaped.step, *found.trace))


class _Rewritten(BaseModel):
    """A model's rewriting of a question."""

    question: str

    @classmethod
    def in_words(cls, reply: str) -> "_Rewritten | None":
        """Read a reply in which one line is a question, with or without a label and quotation marks."""
        lines = [line.strip().strip(_MARKUP) for line in without_thinking(reply).splitlines()]
        asked = [line for line in lines if line.endswith(("?", "？", "؟"))]
        return cls(question=_LABEL.sub("", asked[0]).strip(_MARKUP)) if len(asked) == 1 else None


async def shape(context: Context, history: Conversation, question: str) -> Shaped:
    """Return the standalone question, given the turns that fit in `conversation.turns` and `.tokens`."""
    settings = context.settings.conversation
    seen = history.under(context.narrowed).latest(settings.turns, context.room("conversation", settings.tokens))
    if not seen.turns:
        return Shaped(question, question, "nothing was said before")
    if context.model is None:
        return shape_offline(context, seen, question)
    with measured() as measure:
        try:
            standalone = await _rewritten(context, context.model, seen, question)
            why = "the model's rewriting" if standalone != question else "the model says that it stands alone"
            shaped = Shaped(question, standalone, why)
        except BadAnswer as bad:
            plain = shape_offline(context, seen, question)
            shaped = replace(
                plain, readings=(), why=f"{plain.why} (the model's rewriting cannot be used: {bad.reason})"
            )
    return replace(shaped, usage=measure.usage())


async def _rewritten(context: Context, model: LanguageModel, history: Conversation, question: str) -> str:
    """Return the model's standalone question; BadAnswer if the reply is unusable."""
    turns = [{"question": turn.standalone, "answer": turn.told} for turn in history.turns]
    prompt = messages(
        "query/rewrite_follow_up", conversation=json.dumps(turns, ensure_ascii=False, indent=1), question=question
    )
    request = Request(prompt, REWRITE, sources=_sources(context, history))
    reply = await ask_for(model, request, _Rewritten)
    made = " ".join(reply.question.split())
    if not made:
        raise BadAnswer("it is empty", reply.question)
    if count_tokens(made) > 2 * count_tokens(question) + _LONGEST_REWRITE:
        raise BadAnswer("it is too long for a question", reply.question)
    return question if made == " ".join(question.split()) else made


def _sources(context: Context, history: Conversation) -> tuple[str, ...]:
    """Return the hashes of the chunks behind the turns; a rewriting depends on them."""
    read = {source for turn in history.turns for source in turn.sources}
    cited = {digest(context.chunks[row].text) for turn in history.turns for row in cited_rows(context, turn.citations)}
    return tuple(sorted(read | cited))


def shape_offline(context: Context, history: Conversation, question: str) -> Shaped:
    """Return the question, with the topics of the last turns in brackets if it is incomplete.

    A question is incomplete if it names nothing before that point and

    - has a pronoun early on ("Who directed it?", "When did she marry Pierre Curie?");
    - continues the previous turn ("And the budget?", "What about the second one?", "And Pierre Curie?"), unless its
      words occur in passages but no passage connects them with the topics of that turn: then it is about something new;
    - has no content word ("Why?");
    - has one or two content words that occur in more passages than a reader takes, one of them cited in the last turn
      ("Which actors?"): the last turn identifies a passage, the question does not.
    """
    worded = wording(question, [(mention.start, mention.end) for mention in open_question(context, question).mentions])
    few = not worded.named and worded.weight <= _FEW_WORDS
    if worded.refers:
        elided = not worded.telling and not worded.asks
        return _carried(context, history, question, worded.refers, "it refers back", with_words=elided)
    if worded.goes_on and worded.named and not worded.telling and not worded.asks:
        return _shaped(question, (), _last_words(context, history), "it asks the last question of something else")
    if worded.goes_on and few and worded.telling:
        return _continued(context, history, question, " ".join(worded.telling))
    if worded.goes_on and few:
        return _carried(context, history, question, "any", "it goes on", with_words=True)
    if few and not worded.telling:
        return _carried(context, history, question, "any", "it says nothing by itself", with_words=True)
    if few and _last_turn_says_which(context, history, " ".join(worded.telling)):
        return _carried(context, history, question, "any", "it does not say of what, and the last turn does")
    return Shaped(question, question, "it stands alone")


def _carried(
    context: Context, history: Conversation, question: str, refers: Refers, why: str, *, with_words: bool = False
) -> Shaped:
    """Add the intended names; the last question's words too if wanted, or if no passages have such a title."""
    topics = topics_meant(context, history, question, refers)
    if refers == "person" and not topics:
        return Shaped(question, question, "it asks about a person, and the last turns name none", is_open=True)
    words = _last_words(context, history)
    alone = () if with_words else tuple(_with(question, [topic], []) for topic in topics)
    topics = topics[:NAMES]
    too_wide = not any(topic.is_title for topic in topics)
    return replace(_shaped(question, topics, words if with_words or too_wide else [], why), readings=alone)


def _continued(context: Context, history: Conversation, question: str, telling: str) -> Shaped:
    """Add the names that some passage connects with the question's own words; all if no passage has those words."""
    topics = topics_meant(context, history, question, "any")[:NAMES]
    rows = _rows_with(context, telling)
    if len(rows):
        topics = [topic for topic in topics if np.isin(_rows_with(context, topic.name), rows).any()]
        if not topics:
            return Shaped(question, question, "no passage connects its words with the last turns")
    return _shaped(question, topics, [], "it goes on")


def _rows_with(context: Context, text: str) -> SmallInts:
    """Return the rows of the chunks that contain all content words of a text."""
    holders = open_question(context, text).terms.chunks
    return reduce(np.intersect1d, holders) if holders else np.zeros(0, np.int32)


def _shaped(question: str, topics: Sequence[NamedSpan], last_words: list[str], why: str) -> Shaped:
    if not topics and not last_words:
        return Shaped(question, question, f"{why}, but the last turns name nothing")
    return Shaped(question, _with(question, topics, last_words), why)


def _with(question: str, topics: Sequence[NamedSpan], last_words: list[str]) -> str:
    return f"{question} ({'; '.join([*(topic.name for topic in topics), *filter(None, [' '.join(last_words)])])})"


def _last_words(context: Context, history: Conversation) -> list[str]:
    """Return the content words of the last question that has any, without those carried into it."""
    for turn in reversed(history.turns):
        names = [(mention.start, mention.end) for mention in open_question(context, turn.question).mentions]
        if found := telling_words(turn.question, names):
            return found[:_MOST_WORDS]
    return []


def _last_turn_says_which(context: Context, history: Conversation, telling: str) -> bool:
    rows = _rows_with(context, telling)
    cited = cited_rows(context, history.turns[-1].citations)
    return len(rows) > context.settings.answer.passages and bool(np.isin(cited, rows).any())
