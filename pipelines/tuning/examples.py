"""Few-shot extraction examples that a model writes for corpus texts, each validated by our own parser.

Examples are written from the parsed records, so that their format is right whatever the reply looked like, and only
from records that follow the rules that the examples teach. The texts are a small, diverse sample that represents the
corpus: passages are chosen greedily so that every passage of the corpus is near a chosen one (facility location; Lin
and Bilmes 2011, section 3); the first is the most typical, and outliers come late.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from conspectus.pipelines.steps.chunks import split_document
from conspectus.pipelines.steps.extract.llm import ShownChunk
from conspectus.pipelines.steps.extract.validate import flaw, name_key
from conspectus.prompts.language_model import LanguageModel, Message, Request
from conspectus.prompts.render import render
from conspectus.prompts.replies.records import EntityRecord, Record, Records, is_writable, read_records, write_records
from conspectus.storage.arrays import Vectors
from conspectus.storage.errors import ModelError
from conspectus.storage.records import Chunk, Document
from conspectus.storage.settings import ChunkSettings
from conspectus.storage.text.sentences import sentence_spans
from conspectus.storage.text.tokens import count_each, token_spans

Embed = Callable[[Sequence[str]], Vectors]
"""Returns the unit vectors of texts, one row each."""

_POOL = 10
"""Candidate passages per chosen one."""
_LEAST_TOKENS = 40
"""Length below which a passage (a heading, a caption) is chosen only if its document has no other."""


def sample(
    documents: Sequence[Document], settings: ChunkSettings, count: int, seed: int, embed: Embed | None = None
) -> list[Chunk]:
    """Return up to `count` chunks of different texts, the most typical first; the same for the same arguments.

    As many documents as possible are represented. Without `embed` the sample is random.
    """
    pool = _pool(documents, settings, _POOL * count, seed)
    if embed is None or len(pool) <= count:
        return pool[:count]
    vectors = embed([item.text for item in pool])
    return [pool[place] for place in representatives(vectors, [item.document_id for item in pool], count)]


def representatives(vectors: Vectors, owners: Sequence[str], count: int) -> list[int]:
    """Return `count` representative rows, best first, taking owners in turn. Ties go to the first row."""
    likeness = np.maximum(vectors @ vectors.T, 0.0)
    covered = np.zeros(len(vectors), np.float32)
    taken: Counter[str] = Counter()
    chosen: list[int] = []
    while len(chosen) < min(count, len(vectors)):
        left = [place for place in range(len(vectors)) if place not in chosen]
        turn = min(taken[owners[place]] for place in left)
        heard = [place for place in left if taken[owners[place]] == turn]
        gains = np.maximum(likeness[heard], covered).sum(axis=1, dtype=np.float64)
        best = heard[int(np.argmax(gains))]
        chosen.append(best)
        taken[owners[best]] += 1
        covered = np.maximum(covered, likeness[best])
    return chosen


def excerpt(text: str, most: int) -> str:
    """Return the first sentences within `most` tokens; a longer first sentence is truncated."""
    spans = sentence_spans(text)
    end, room = 0, most
    for (start, stop), tokens in zip(spans, count_each(text[start:stop] for start, stop in spans), strict=True):
        if tokens > room:
            if not end:
                return text[start : token_spans(text[start:stop])[most - 1][1] + start]
            break
        end, room = stop, room - tokens
    return text[:end].strip()


def _pool(documents: Sequence[Document], settings: ChunkSettings, most: int, seed: int) -> list[Chunk]:
    """Return up to `most` chunks in a random order that takes the documents in turn."""
    dice = np.random.default_rng(seed)
    texts: set[str] = set()
    pool: list[Chunk] = []
    drawn = [documents[place] for place in dice.permutation(len(documents))[:most]]
    waiting = [_shuffled(split_document(item, settings), dice) for item in drawn]
    while waiting and len(pool) < most:
        still = []
        for chunks in waiting:
            if (chunk := next(chunks, None)) is None:
                continue
            still.append(chunks)
            if chunk.text not in texts:
                texts.add(chunk.text)
                pool.append(chunk)
        waiting = still
    return pool[:most]


def _shuffled(chunks: Sequence[Chunk], dice: np.random.Generator) -> Iterator[Chunk]:
    telling = [chunk for chunk in chunks if chunk.n_tokens >= _LEAST_TOKENS] or list(chunks)
    return iter([telling[place] for place in dice.permutation(len(telling))])


STEP = "tune"

_DATE = re.compile(r"\d{4}(-\d\d){0,2}")
_STATUS = ("TRUE", "FALSE", "SUSPECTED")


@dataclass(frozen=True, slots=True)
class ExampleDraft:
    """The result for one text: the records of an example, none if it failed.

    `thrown_away` gives the reasons for rejected replies; `left_out` counts records of the accepted reply that break
    the rules.
    """

    shown: ShownChunk
    records: Records | None
    thrown_away: tuple[str, ...] = ()
    left_out: int = 0


Checked = Callable[[Records], Records]
"""Returns the records that an example may contain."""


async def make_example(
    model: LanguageModel, shown: ShownChunk, prompt: tuple[Message, ...], checked: Checked
) -> ExampleDraft:
    """Return the example that a model writes for a text; an unusable reply is retried once.

    Raises:
        BudgetReached: The budget is spent. Other failures are reported in the result.
    """
    asked = prompt
    thrown_away: list[str] = []
    for _ in range(2):
        try:
            reply = await model.complete(Request(asked, STEP))
        except ModelError as error:
            return ExampleDraft(shown, None, (*thrown_away, str(error)))
        read = read_records(reply.text, cut_off=reply.is_cut_off)
        kept = checked(read)
        reason = _unusable(read, kept)
        if not reason:
            return ExampleDraft(shown, kept, tuple(thrown_away), _size(read) - _size(kept))
        thrown_away.append(reason)
        again = Message("user", render("index/tune_again", reason=reason))
        # Many servers refuse a conversation with an empty reply.
        said = (Message("assistant", reply.text),) if reply.text.strip() else ()
        asked = (*prompt, *said, again)
    return ExampleDraft(shown, None, tuple(thrown_away))


def _unusable(read: Records, kept: Records) -> str:
    if read.lost:
        lost = read.lost[0]
        return f"{lost.reason}: {lost.text}" if lost.text else lost.reason
    if not _size(read):
        return "there is no record"
    return "" if kept.entities or kept.claims else "no record is about something that the text names"


def elements_in(shown: ShownChunk, types: Sequence[str]) -> Checked:
    """Return a filter for entities of given types that text or title name, and relationships between them.

    A relationship without a predicate would teach that it needs none.
    """
    spelt = {kind.casefold(): kind for kind in types}
    held = _plain(f"{shown.title}\n{shown.text}")

    def checked(read: Records) -> Records:
        entities: dict[str, EntityRecord] = {}
        for entity in read.entities:
            kind = spelt.get(entity.type.casefold())
            if kind and entity.description and _plain(entity.name) in held and _fits(entity):
                entities.setdefault(name_key(entity.name), replace(entity, type=kind))
        relations = []
        for relation in read.relations:
            source, target = entities.get(name_key(relation.source)), entities.get(name_key(relation.target))
            said = relation.predicate and relation.description and 1 <= (relation.strength or 0) <= 10
            if source and target and said and _fits(relation):
                relations.append(replace(relation, source=source.name, target=target.name))
        return Records(tuple(entities.values()), tuple(relations))

    return checked


def claims_in(shown: ShownChunk) -> Checked:
    """Return a filter for claims about entities that text or title name, and that quote the text."""
    held, titled = _plain(shown.text), _plain(f"{shown.title}\n{shown.text}")

    def checked(read: Records) -> Records:
        kept = []
        for item in read.claims:
            claim = replace(item, status=item.status.upper())
            dates = [date for date in (claim.start_date, claim.end_date) if date]
            quoted = claim.quote is not None and _plain(claim.quote) in held
            named = all(_plain(name) in titled for name in (claim.subject, claim.object) if name)
            if quoted and named and claim.type and claim.status in _STATUS and all(map(_DATE.fullmatch, dates)):
                kept.append(claim)
        return Records(claims=tuple(row for row in kept if _fits(row)))

    return checked


def written(made: Sequence[ExampleDraft], types: Sequence[str]) -> str:
    """Return the examples of entities and relationships in the format of the prompt."""
    return _written("index/tuned_example", made, entity_types=", ".join(types))


def written_claims(made: Sequence[ExampleDraft]) -> str:
    """Return the examples of claims in the format of the prompt."""
    return _written("index/tuned_claims_example", made)


def _written(template: str, made: Sequence[ExampleDraft], **values: str) -> str:
    kept = [(each.shown, write_records(each.records)) for each in made if each.records is not None]
    return "\n\n".join(
        render(template, number=str(number), text=shown.text, records=records, **shown.place, **values)
        for number, (shown, records) in enumerate(kept, 1)
    )


def can_be_shown(text: str) -> bool:
    """Return whether a text contains no delimiters of records, so that it can be used in an example."""
    return "<|" not in text and "|>" not in text


def _size(records: Records) -> int:
    return len(records.entities) + len(records.relations) + len(records.claims)


def _fits(record: Record) -> bool:
    return not flaw(record) and is_writable(record)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
