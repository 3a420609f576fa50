"""IRCoT: retrieval interleaved with chain-of-thought reasoning; each thought is the next retrieval query.

Trivedi et al. 2023, "Interleaving Retrieval with Chain-of-Thought Reasoning for Knowledge-Intensive Multi-Step
Questions" (arXiv 2212.10509, section 3), over any retriever. As in the paper, the first sentence of a reply is the next
query. One difference: passages are ranked by their best score over all queries, not collected in order of retrieval, so
the reader sees the best passages of all queries.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from conspectus.prompts.language_model import LanguageModel, Request
from conspectus.prompts.render import messages
from conspectus.prompts.replies.thinking import without_thinking
from conspectus.query.answer_writing.generative import ModelReader
from conspectus.query.context import Context
from conspectus.query.menu import find_retriever
from conspectus.query.types import Answerer, Evidence, Passage, Retriever, Step
from conspectus.storage.errors import ModelError
from conspectus.storage.hashing import digest
from conspectus.storage.text.names import words
from conspectus.storage.text.sentences import sentence_spans

STEP = "thought"

_CONCLUDES = re.compile(
    r"\W*(?:so|thus|hence|therefore),?\s+the\s+(?:final\s+)?answer\s+is\b(?!\s+(?:not|un|nowhere|missing|what))",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^[\s*_>#-]*(?:(?:(?:next\s+)?(?:thought|step|sentence)\b[\s\d]*[:.)\-–—]+|(?:answer|reply|response):)[\s*_]*)?",
    re.IGNORECASE,
)
_LONGEST = 1000
"""Most characters of a thought: a longer text without an end is not a sentence."""


class IrcotRetriever:
    """Alternates retrieval with chain-of-thought sentences of a model (Trivedi et al. 2023, section 3).

    One question takes at most `ircot.max_steps` model calls and one more retrieval.
    """

    def __init__(self, context: Context, base: Retriever, model: LanguageModel) -> None:
        self._base = base
        self._model = model
        self._settings = context.settings.ircot

    async def retrieve(self, question: str, k: int) -> Evidence:
        """Return the `k` passages with the highest scores, and the thoughts as steps of the trace.

        A passage's score is its best over the question and all thoughts, each scaled so that its best passage scores 1.
        The loop ends with a thought that states the answer, after `ircot.max_steps` thoughts, or, with a reason in the
        trace, at a reply without a new sentence or when the model fails after its first thought.

        Args:
            question: The question.
            k: The maximum number of passages.

        Returns:
            The passages, best first, and the steps.

        Raises:
            ModelError: The model gives no reply to the first prompt.
            BudgetReached: The token budget is spent.
        """
        depth = max(k, self._settings.passages)
        found = await self._base.retrieve(question, depth)
        merged = _Merged()
        merged.add(found.passages)
        steps, thoughts = [*found.trace], list[str]()
        ended = f"{self._settings.max_steps} thoughts are the most (ircot.max_steps)" if found.passages else ""
        for number in range(1, self._settings.max_steps + 1) if found.passages else ():
            try:
                reply = await self._model.complete(thinking(question, merged.best(self._settings.passages), thoughts))
            except ModelError as error:
                if not thoughts:
                    raise
                ended = f"no thought {number}: {error}"
                break
            thought = first_sentence(reply.text)
            if reason := _unusable(thought, thoughts):
                ended = f"no thought {number}: {reason}"
                break
            thoughts.append(thought)
            if concludes(thought):
                steps.append(Step(f"thought {number}", thought))
                ended = "the last thought says the answer"
                break
            new = merged.add((await self._base.retrieve(thought, depth)).passages)
            steps.append(Step(f"thought {number}", f"{thought} ({new} new passages)"))
        if ended:
            steps.append(Step("ircot", f"thoughts: {len(thoughts)}; {ended}"))
        return Evidence(merged.best(k), trace=tuple(steps))


@dataclass(slots=True)
class _Merged:
    """Passages by their best score in any retrieval."""

    _best: dict[str, Passage] = field(default_factory=dict)

    def add(self, passages: Sequence[Passage]) -> int:
        """Add the passages of one retrieval, best first, and return how many of them are new."""
        before = len(self._best)
        for item in scaled(passages):
            if item.chunk_id not in self._best or self._best[item.chunk_id].score < item.score:
                self._best[item.chunk_id] = item
        return len(self._best) - before

    def best(self, count: int) -> tuple[Passage, ...]:
        """Return the passages with the highest scores, ties by chunk id."""
        return tuple(sorted(self._best.values(), key=lambda value: (-value.score, value.chunk_id))[:count])


def scaled(passages: Sequence[Passage]) -> list[Passage]:
    """Return the passages of one retrieval with their scores in [0, 1]: the best has 1, and 0 stays 0.

    Scores of two questions cannot be compared: those of PageRank differ by orders of magnitude. If some are negative
    (the logits of a cross-encoder), the smallest becomes 0.
    """
    floor = min(0.0, min((passage.score for passage in passages), default=0.0))
    span = max((passage.score for passage in passages), default=0.0) - floor
    return [replace(passage, score=(passage.score - floor) / span if span > 0 else 1.0) for passage in passages]


def thinking(question: str, passages: Sequence[Passage], thoughts: Sequence[str]) -> Request:
    """Return the request for the next thought, which depends only on the texts and titles of the passages."""
    prompt = messages(
        "query/hipporag/ircot_thought",
        passages="\n\n".join(f"{passage.title}\n{passage.text}".strip() for passage in passages),
        question=question,
        thoughts=" ".join(thoughts) or "(none yet)",
    )
    return Request(prompt, STEP, sources=tuple(digest(passage.text) for passage in passages))


def first_sentence(reply: str) -> str:
    """Return the first sentence of a reply without a leading label; "" if it contains no word.

    >>> first_sentence("Thought 2: The bridge crosses the Aar. The Aar rises in Bern.")
    'The bridge crosses the Aar.'
    """
    text = _LABEL.sub("", without_thinking(reply))
    spans = [text[start:end] for start, end in sentence_spans(text)]
    first = next((span for span in spans if words(span) and (not span.endswith(":") or concludes(span))), "")
    return " ".join(first.split())


def concludes(thought: str) -> bool:
    """Return whether a thought states the answer in the form that the prompt requests.

    >>> concludes("So the answer is: Bern."), concludes("The passages do not say what the answer is.")
    (True, False)
    """
    return bool(_CONCLUDES.match(thought))


def _unusable(thought: str, before: Sequence[str]) -> str:
    """Return why a reply cannot serve as the next query, or ""."""
    if not thought:
        return "the reply holds no sentence"
    if len(thought) > _LONGEST:
        return f"the reply goes on for {len(thought):,} characters without the end of a sentence"
    if thought.casefold() in {item.casefold() for item in before}:
        return "the model repeats itself"
    return ""


def open_ircot_retriever(context: Context) -> IrcotRetriever:
    """Return the retriever over the method `ircot.retriever`, for settings that name a language model."""
    model = context.model
    assert model is not None, "the menu opens it only with one"
    return IrcotRetriever(context, find_retriever(context.settings.ircot.retriever, context), model)


def open_ircot(name: str, context: Context, model: LanguageModel) -> Answerer:
    """Return the answerer that reads the passages retrieved by the thoughts.

    As in the paper, the answer is read from the passages: the thoughts only find them, so the answer contains nothing
    that no passage supports. There are at most `ircot.max_steps` thoughts and 1 answer, one call each.
    """
    return ModelReader(name, context, open_ircot_retriever(context), model, context.settings.ircot.passages)
