"""Questions to an index, as coroutines.

The examples call the same methods of `Index`, which block; `index.aio` has the coroutines.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from conspectus.query.conversation.history import Conversation
from conspectus.query.menu import DEFAULT_METHOD, DEFAULT_RETRIEVER
from conspectus.query.question.bounds import bound_steps, part_read
from conspectus.query.types import Answer, Evidence, Say, ignore_pieces
from conspectus.storage.errors import UsageError

if TYPE_CHECKING:
    from conspectus.query.context import Context
    from conspectus.query.explain.types import Explanation

QUESTIONS_AT_ONCE = 64
"""Number of questions that `retrieve_many` embeds, and sends to a model, together."""


@dataclass(frozen=True, slots=True, repr=False)
class AsyncIndex:
    """The question methods of `Index` as coroutines. `index.aio` returns it."""

    context: "Context"

    def __repr__(self) -> str:
        """Return the folder, the version and the numbers of documents and passages."""
        return f"AsyncIndex({self.context})"

    async def ask(
        self,
        question: str,
        method: str = DEFAULT_METHOD,
        say: Say | None = None,
        history: Conversation | None = None,
        topics: Sequence[str] = (),
    ) -> Answer:
        """Answer a question, citing the documents.

        Args:
            question: the question, in any language that the index's encoder knows.
            method: a name of `conspectus methods`; `auto` chooses one and gives the reason in the answer's trace.
            say: called with each piece of the answer while a model writes it.
            history: the previous conversation. The question may then be a follow-up ("and who directed it?");
                `Answer.standalone` has the question as it was understood.
            topics: names of graph entities from which a walk starts, instead of those in the question.

        Returns:
            The answer: its text with marks like [1], the citations that the marks point to, the evidence, its cost, and
            a trace of the steps. `Answer.known` is false if nothing supports an answer.

        Raises:
            UnknownMethod: no method has that name; the message names the nearest one.
            UsageError: the question is empty; or `topics` are given for a method that does not walk, or together with
                `history`.
            NeedsModel: the method takes a model that the settings do not name.
            ModelError: the model's server gave no usable answer.
            BudgetReached: the next call could pass the budget of the settings.

        Example:
            >>> answer = index.ask("Who repaired the lighthouse lamp?", method="ppr")
            >>> [citation.title for citation in answer.citations][:1]
            ['lighthouse']
            >>> "Mara Quill" in answer.text
            True
        """
        from conspectus.query.citations.verification import verified
        from conspectus.query.filter.documents import with_filter_step
        from conspectus.query.menu import find_method
        from conspectus.query.types import TopicAnswerer

        context = self._asked(question)
        read, long = part_read(question), bound_steps(question)
        answerer = find_method(method, context.settings).answerer(context)
        if topics:
            if not isinstance(answerer, TopicAnswerer):
                raise UsageError(f"method {method!r} does not walk from topics; choose one that does, such as tog2")
            if history is not None:
                raise UsageError("topics cannot be combined with a conversation")
            answer = await answerer.answer_about(read, topics, say or ignore_pieces)
        else:
            if history is not None:
                from conspectus.query.conversation.follow_up import ShapedAnswerer

                answerer = ShapedAnswerer(context, answerer, history)
            answer = await answerer.answer(read, say or ignore_pieces)
        answer = await verified(context, answer)
        return with_filter_step(context, replace(answer, question=question, trace=(*long, *answer.trace)))

    async def retrieve(
        self, question: str, method: str = DEFAULT_RETRIEVER, k: int = 5, history: Conversation | None = None
    ) -> Evidence:
        """Find the best passages for a question, without answering it.

        Args:
            question: the question.
            method: a method that finds passages.
            k: the number of passages, at least 1.
            history: the previous conversation, if the question may be a follow-up.

        Returns:
            At most `k` passages, best first, ties by chunk id. Scores compare passages of one call only.

        Raises:
            UnknownMethod: no method has that name.
            UsageError: a question is empty, `k` is below 1, or the method finds no passages.

        Example:
            >>> found = index.retrieve("lighthouse lamp", method="bm25", k=1)
            >>> found.passages[0].title
            'lighthouse'
        """
        return (await self.retrieve_many([question], method, k, history))[0]

    async def retrieve_many(
        self, questions: Sequence[str], method: str = DEFAULT_RETRIEVER, k: int = 5, history: Conversation | None = None
    ) -> list[Evidence]:
        """Find the best passages for each of many questions.

        Faster than one question at a time: `QUESTIONS_AT_ONCE` questions are embedded together, and calls to a model
        run concurrently.

        Args:
            questions: the questions.
            method: a method that finds passages.
            k: the number of passages for each question, at least 1.
            history: the previous conversation, the same for each question.

        Returns:
            The result of `retrieve` for each question, in their order.

        Raises:
            UnknownMethod: no method has that name.
            UsageError: a question is empty, `k` is below 1, or the method finds no passages.

        Example:
            >>> found = index.retrieve_many(["lighthouse lamp", "harbour dredging"], method="bm25", k=1)
            >>> [evidence.passages[0].title for evidence in found]
            ['lighthouse', 'harbour']
        """
        from conspectus.prompts.client.event_loop import gather_all
        from conspectus.query.filter.documents import with_filter_step_of_evidence
        from conspectus.query.menu import find_retriever

        if k < 1:
            raise UsageError(f"k is the number of passages, at least 1, not {k}")
        context = self._asked(*questions)
        retriever = find_retriever(method, context)
        if history is not None:
            from conspectus.query.conversation.follow_up import ShapedRetriever

            retriever = ShapedRetriever(context, retriever, history)
        found: list[Evidence] = []
        for start in range(0, len(questions), QUESTIONS_AT_ONCE):
            batch = [part_read(question) for question in questions[start : start + QUESTIONS_AT_ONCE]]
            if len(batch) > 1:
                context.embedder.embed_queries(batch)  # cached until each question asks for its vector
            found += await gather_all(retriever.retrieve(question, k) for question in batch)
        return [
            with_filter_step_of_evidence(context, replace(evidence, trace=(*bound_steps(question), *evidence.trace)))
            for question, evidence in zip(questions, found, strict=True)
        ]

    async def explain(
        self,
        question: str,
        method: str = DEFAULT_RETRIEVER,
        k: int = 5,
        *,
        passage: int | None = None,
        chunk: str | None = None,
        paths: int = 5,
    ) -> "Explanation":
        """Explain why a method ranks passages as it does: the graph paths, shared words and cosines behind each.

        Args:
            question: the question.
            method: `ppr`, `ppr:hipporag1`, `ppr:hipporag2`, `bm25`, `dense` or `hybrid`.
            k: the number of passages to explain.
            passage: explain only the passage of this rank, from 1.
            chunk: explain the chunk with this id, whether it was found or not.
            paths: the maximum number of paths shown for a passage.

        Returns:
            The explanation; `conspectus.render.drawings.explanation_svg` draws it.

        Raises:
            UsageError: the question is empty, the method cannot be explained, or no such passage exists.

        Example:
            >>> index.explain("lighthouse lamp", method="bm25", k=1).passages[0].passage.title
            'lighthouse'
        """
        from conspectus.query.explain.explain import explain

        context, read = self._asked(question), part_read(question)
        found = await explain(context, read, method, k, passage=passage, chunk=chunk, paths=paths)
        return replace(found, question=question, trace=(*bound_steps(question), *found.trace))

    def _asked(self, *questions: str) -> "Context":
        """Return the context for these questions: settings can hide documents with access tags by default."""
        from conspectus.query.filter.documents import filtered

        if not all(question.strip() for question in questions):
            raise UsageError("the question is empty")
        return filtered(self.context, None, None)
