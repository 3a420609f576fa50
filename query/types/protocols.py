"""Protocols of methods: retrievers, answerers and their optional capabilities."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from conspectus.query.types.answer import Answer, Evidence
from conspectus.query.types.subgraph import CarriedPrizes


class Retriever(Protocol):
    """Retrieves evidence for a question."""

    async def retrieve(self, question: str, k: int) -> Evidence:
        """Retrieve evidence for a question.

        Args:
            question: The question, or any search text.
            k: The largest number of passages; the other fields of the evidence are not bounded by it.

        Returns:
            Up to `k` passages, best first, ties by chunk id. Scores are comparable within one result, not between
            methods or questions (see `Passage.score`). If nothing was found, no passages, and a trace with the reason.

        Raises:
            ModelError: A language model or an embedding server was needed and failed.
            BudgetReached: A call could have exceeded the budget of the settings.
        """
        ...


class Answerer(Protocol):
    """Answers a question and cites the sources of the answer."""

    async def answer(self, question: str) -> Answer:
        """Answer a question.

        Args:
            question: The question.

        Returns:
            The answer. If nothing in the index supports one, `Answer.known` is false and the text says so.

        Raises:
            ModelError: A language model or an embedding server failed, and no answer can be made without it. A method
                that can do without one call continues, and its trace counts the failure.
            BudgetReached: A call could have exceeded the budget of the settings.
        """
        ...


@runtime_checkable
class FollowUpAnswerer(Answerer, Protocol):
    """Answers a follow-up question of a conversation using the subgraphs of earlier answers."""

    async def answer_after(self, question: str, kept: CarriedPrizes) -> Answer:
        """Answer a standalone question; `kept` are the prizes carried over from earlier subgraphs."""
        ...


@runtime_checkable
class TopicAnswerer(Answerer, Protocol):
    """Answers from named entities; `answer` links the entities of the question itself."""

    async def answer_about(self, question: str, topics: Sequence[str]) -> Answer:
        """Answer from the entities with these names; the trace lists names that the graph lacks."""
        ...
