"""Conversations with an index."""

from typing import TYPE_CHECKING

from conspectus.query.conversation.history import Conversation
from conspectus.query.menu import DEFAULT_METHOD, DEFAULT_RETRIEVER
from conspectus.query.types import Answer, Evidence

if TYPE_CHECKING:
    from conspectus.api import Index


class Chat:
    """A conversation with an index: each question may refer to earlier ones. One question at a time."""

    def __init__(self, index: "Index", method: str = DEFAULT_METHOD, history: Conversation | None = None) -> None:
        self._index = index
        self._method = method
        self.history = history or Conversation()
        """The turns so far."""

    async def ask_async(self, question: str, method: str | None = None) -> Answer:
        """Async version of `ask`."""
        answer = await self._index.aio.ask(question, method or self._method, self.history)
        self.history = self.history.after(answer)
        return answer

    def ask(self, question: str, method: str | None = None) -> Answer:
        """Answer a question and add it to the conversation. An error leaves the conversation unchanged.

        Args:
            question: the question, which may be a follow-up.
            method: the method of this question only.

        Raises:
            ConspectusError: as for `Index.ask`.
        """
        from conspectus.api import run_blocking

        return run_blocking(self.ask_async(question, method))

    def retrieve(self, question: str, method: str = DEFAULT_RETRIEVER, k: int = 5) -> Evidence:
        """Find passages for the question in the context of the conversation, which is not changed."""
        return self._index.retrieve(question, method, k, self.history)

    def new(self) -> None:
        """Start over: forget all turns."""
        self.history = Conversation()
