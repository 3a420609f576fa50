"""Describe entities and relations: quoted from the documents, or summarised by a language model.

Without a model, an entity is described by its most central mention sentences. With one, these are the element
summaries of GraphRAG (Edge et al. 2024, section 3.1.3): the model is called only if the descriptions from several
chunks together exceed `DESCRIPTION_TOKENS`.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain

from conspectus.pipelines.steps.extract.llm import AT_ONCE
from conspectus.pipelines.steps.sentences import Sentences
from conspectus.prompts.client.event_loop import gather_all
from conspectus.prompts.client.window import window_for
from conspectus.prompts.embedding.windows import cut_windows
from conspectus.prompts.language_model import LanguageModel, Request
from conspectus.prompts.render import messages
from conspectus.prompts.replies.structured import ExchangeResult, ask_for, least_lost
from conspectus.storage.arrays import Rows
from conspectus.storage.errors import ModelError
from conspectus.storage.records import Failure
from conspectus.storage.text.tokens import DESCRIPTION_TOKENS, count_each, count_tokens, token_spans
from pydantic import BaseModel, Field

SENTENCES = 2  # at most in a quoted description: who or what it is, and one thing about it
INPUT_TOKENS = 4000  # of descriptions in one prompt, for models with a window of 8,000


def quoted(rows: Rows, sentences: Sentences) -> str:
    """Return the most central of the sentences that mention an entity, in text order, by their rows."""
    chosen = sorted(sentences.most_central(rows, SENTENCES))
    return " ".join(" ".join(sentences.placed.text(row).split()) for row in chosen)


STAGE = "summarise"

SUMMARY_WORDS = 150
"""Length of a summary, as requested in the prompt."""
_LINE = "- "
_LINE_TOKENS = 1


# JSON, because plain text does not show whether it is complete, or an apology.
class DescriptionAnswer(BaseModel):
    """A description as stated by a model."""

    description: str = Field(pattern=r"\S")


class DescriptionWriter:
    """One description for each thing, summarised concurrently, starting on construction, in a running event loop.

    `name_of` returns the display name of a thing (an entity's name; "A and B" for a relation), `sources_of` the digests
    of the chunks that the descriptions of some things come from; both are asked only for what is summarised.
    Descriptions are sorted, without duplicates and blank ones. A single one is used unchanged; several are joined up to
    `DESCRIPTION_TOKENS`; beyond that the model summarises them: all together up to `INPUT_TOKENS`, otherwise in batches
    whose results are summarised in turn. A description longer than half a batch is divided first, so that nothing is
    left out. If a call fails, as many whole descriptions as fit into the threshold are joined.
    """

    def __init__(
        self,
        name_of: Callable[[str], str],
        descriptions: Sequence[Mapping[str, Sequence[str]]],
        model: LanguageModel,
        sources_of: Callable[[Sequence[str]], Mapping[str, tuple[str, ...]]],
    ) -> None:
        self.texts = Texts(descriptions)
        """The descriptions by id; until the model has summarised them, the joined descriptions."""
        self._failures: list[Failure] = []
        self._running = asyncio.Semaphore(AT_ONCE)
        several: list[str] = []

        def joined() -> Iterator[str]:
            for id_, some in chain.from_iterable(of_kind.items() for of_kind in descriptions):
                if len(told := _distinct(some)) > 1:
                    several.append(id_)
                    yield _joined(told)

        tokens = count_each(joined())
        long = sorted(id_ for id_, n in zip(several, tokens, strict=True) if n > DESCRIPTION_TOKENS)
        sources = sources_of(long)
        self._tasks = {
            id_: asyncio.create_task(self._sum_up(id_, name_of(id_), model, sources.get(id_, ()))) for id_ in long
        }

    async def ready(self, ids: Iterable[str]) -> None:
        """Wait until the descriptions of these ids are final. BudgetReached if one cannot be paid."""
        waited_for = [self._tasks[id_] for id_ in ids if id_ in self._tasks]
        if waited_for:
            await asyncio.wait(waited_for)
            for task in waited_for:
                task.result()

    async def all(self) -> list[Failure]:
        """Wait for all, and return a failure for each that the model did not provide, sorted by id.

        BudgetReached is raised after the running calls have ended.
        """
        await gather_all(self._tasks.values())
        return sorted(self._failures, key=lambda failure: failure.item_id)

    async def _sum_up(self, id_: str, name: str, model: LanguageModel, sources: tuple[str, ...]) -> None:
        async with self._running:
            told = self.texts.told(id_)
            text = await _written(name, told, model, sources)
        if isinstance(text, ModelError):
            self._failures.append(Failure(STAGE, id_, "the descriptions could not be summed up", str(text)))
            text = _joined(_whole(told, DESCRIPTION_TOKENS))
        self.texts.summaries[id_] = text


class Texts(Mapping[str, str]):
    """The description of each thing: its summary, if there is one, else its descriptions, joined when asked for."""

    def __init__(self, descriptions: Sequence[Mapping[str, Sequence[str]]]) -> None:
        self._descriptions = descriptions
        self.summaries: dict[str, str] = {}

    def told(self, id_: str) -> list[str]:
        """Return the distinct descriptions of a thing; KeyError if nothing is told of it."""
        for of_kind in self._descriptions:
            with suppress(KeyError):
                return _distinct(of_kind[id_])
        raise KeyError(id_)

    def __getitem__(self, id_: str) -> str:
        return self.summaries[id_] if id_ in self.summaries else _joined(self.told(id_))

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self._descriptions)

    def __len__(self) -> int:
        return sum(map(len, self._descriptions))


def _distinct(descriptions: Iterable[str]) -> list[str]:
    return sorted({" ".join(description.split()) for description in descriptions} - {""})


def _joined(descriptions: Sequence[str]) -> str:
    if len(descriptions) < 2:
        return "".join(descriptions)
    return " ".join(f"{description}." if description[-1].isalnum() else description for description in descriptions)


def _whole(descriptions: Sequence[str], most: int) -> list[str]:
    """Return as many descriptions as fit, in order; if none fits, the shortest alone."""
    kept: list[str] = []
    room = most
    for item, tokens in zip(descriptions, count_each(descriptions), strict=True):
        if tokens < room or (tokens == room and not item[-1].isalnum()):  # a full stop may be appended
            kept.append(item)
            room -= tokens + item[-1].isalnum()
    return kept or [min(descriptions, key=lambda description: (len(description), description))]


async def _written(
    name: str,
    descriptions: Sequence[str],
    model: LanguageModel,
    sources: tuple[str, ...],
) -> str | ModelError:
    # Two always fit into a batch, so that every round leaves fewer.
    most_tokens = window_for(model, "summarise").room(INPUT_TOKENS)
    most = most_tokens // 2 - _LINE_TOKENS
    texts = [piece for description in descriptions for piece in _pieces(description, most)]
    try:
        while len(texts) > 1:
            batches = list(_batches(texts, most_tokens))
            replies = await gather_all(_one(name, batch, model, SUMMARY_WORDS, sources) for batch in batches)
            texts = replies if len(replies) == 1 else [_pieces(reply, most)[0] for reply in replies]
    except ModelError as error:
        return error
    return texts[0]


async def _one(name: str, batch: Sequence[str], model: LanguageModel, words: int, sources: tuple[str, ...]) -> str:
    if len(batch) == 1:
        return batch[0]
    listed = "\n".join(f"{_LINE}{item}" for item in batch)
    prompt = messages("index/summarise", words=str(words), thing=name, descriptions=listed)
    request = Request(prompt, "summarise", sources=sources)

    async def exchange(model: LanguageModel) -> ExchangeResult[str]:
        answer = await ask_for(model, request, DescriptionAnswer)
        return ExchangeResult(" ".join(answer.description.split()))

    return await least_lost(model, exchange)


def _pieces(text: str, most: int) -> list[str]:
    """Return the text in pieces of at most `most` tokens, cut between words unless a word is longer."""
    if count_tokens(text) <= most:
        return [text]
    starts = [start for start, _ in token_spans(text)]
    pieces = cut_windows(
        text,
        starts,
        list(_word_numbers(text, starts)),
        room=most,
        overlap=0,
        fits=lambda piece: count_tokens(piece) <= most,
    )
    return [piece.strip() for piece in pieces if piece.strip()]


def _word_numbers(text: str, starts: Sequence[int]) -> Iterator[int]:
    """Yield for each token the number of the word that it belongs to; only whitespace separates words."""
    number = before = 0
    for start in starts:
        number += any(sign.isspace() for sign in text[before:start])
        before = start
        yield number


def _batches(texts: Sequence[str], most: int) -> Iterator[list[str]]:
    """Yield the texts in order, in batches of at most `most` tokens, one text a line."""
    batch: list[str] = []
    room = most
    for text, tokens in zip(texts, count_each(texts), strict=True):
        if batch and tokens + _LINE_TOKENS > room:
            yield batch
            batch, room = [], most
        batch.append(text)
        room -= tokens + _LINE_TOKENS
    yield batch
