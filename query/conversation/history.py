"""Conversation history: turns in order, and the part of them that fits into a follow-up question's budget."""

from dataclasses import dataclass, replace
from typing import Annotated

from conspectus.query.types import Answer
from conspectus.query.types.subgraph import NO_PRIZES, CarriedPrizes
from conspectus.storage.hashing import digest
from conspectus.storage.text.tokens import count_tokens, token_spans
from pydantic import ConfigDict, Field

MOST_CHARACTERS = 50_000
"""Most characters of a question or an answer in a session file."""
MOST_CITATIONS = 1_000
_Text = Annotated[str, Field(max_length=MOST_CHARACTERS)]
_Asked = Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)]
_Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


@dataclass(frozen=True, slots=True)
class CitedSpan:
    """The span of a citation: characters [start, end) of a document."""

    document_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Turn:
    """A question and its answer. The limits are those of a session file.

    Attributes:
        question: The question as the user asked it.
        standalone: The question that was answered: the same, completed from the conversation.
        citations: The spans that support the answer; empty if there is no support.
        sources: The hashes of the passages that the answer depends on.
        narrowed: The filter that restricted the index, in words.
        short: The short answer, if there was one.
    """

    question: _Asked
    standalone: _Asked
    answer: _Text
    method: Annotated[str, Field(max_length=1_000)]
    citations: Annotated[tuple[CitedSpan, ...], Field(max_length=MOST_CITATIONS)] = ()
    sources: Annotated[tuple[_Hash, ...], Field(max_length=MOST_CITATIONS)] = ()
    narrowed: _Text = ""
    kept: CarriedPrizes = NO_PRIZES
    """The starting point of the next question, if the answer was made from a subgraph."""
    short: _Text = ""
    __pydantic_config__ = ConfigDict(extra="forbid")

    @property
    def told(self) -> str:
        """The answer, the short one first."""
        return f"{self.short}\n{self.answer}" if self.short else self.answer

    @property
    def tokens(self) -> int:
        """The length of the turn in tokens: question, standalone question and answer."""
        return sum(map(count_tokens, {self.question, self.standalone})) + count_tokens(self.told)


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns, oldest first. Immutable: `after` returns the longer one."""

    turns: tuple[Turn, ...] = ()

    def after(self, answer: Answer) -> "Conversation":
        """Return the conversation with one more answer."""
        return Conversation((*self.turns, turn_of(answer)))

    def under(self, narrowed: str) -> "Conversation":
        """Return the turns answered under the same filter; other turns may reveal other documents.

        All turns are returned if there is no filter.
        """
        return Conversation(tuple(turn for turn in self.turns if turn.narrowed == narrowed)) if narrowed else self

    def latest(self, turns: int, tokens: int) -> "Conversation":
        """Return the last turns: at most `turns`, of at most `tokens` tokens together.

        If the last turn alone is longer, it is cut: its answer first, then its questions.
        """
        kept: list[Turn] = []
        left = tokens
        for turn in reversed(self.turns[-turns:] if turns > 0 else ()):
            if turn.tokens > left:
                if not kept:
                    kept.append(_shortened(turn, tokens))
                break
            kept.append(turn)
            left -= turn.tokens
        return Conversation(tuple(reversed(kept)))


def turn_of(answer: Answer) -> Turn:
    """Return the turn that records an answer."""
    subgraph = answer.evidence.subgraph
    return Turn(
        answer.question,
        answer.standalone or answer.question,
        answer.text,
        answer.method,
        tuple(dict.fromkeys(CitedSpan(cited.document_id, cited.start, cited.end) for cited in answer.citations)),
        tuple(sorted({digest(passage.text) for passage in answer.evidence.passages})),
        answer.narrowed,
        subgraph.kept if subgraph else NO_PRIZES,
        answer.span,
    )


def _shortened(turn: Turn, tokens: int) -> Turn:
    standalone = question = first_tokens(turn.standalone, tokens)
    left = tokens - count_tokens(standalone)
    if turn.question != turn.standalone:
        question = first_tokens(turn.question, left)
        left -= count_tokens(question)
    return replace(turn, question=question, standalone=standalone, answer=first_tokens(turn.answer, left), short="")


def first_tokens(text: str, count: int) -> str:
    """Return the beginning of a text with at most `count` tokens.

    >>> first_tokens("Toto barked.", 3)
    'Toto barked'
    """
    while len(spans := token_spans(text)) > count:  # the rest of a cut word may be tokenized differently
        text = text[: spans[count - 1][1]] if count > 0 else ""
    return text
