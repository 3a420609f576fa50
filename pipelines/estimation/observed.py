"""Habits of a model as its remembered replies show them, beside what is known beforehand."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from conspectus.pipelines.estimation.asked import Observed
from conspectus.pipelines.estimation.habits import Habits, Seen
from conspectus.pipelines.estimation.names import has_capitals, names_in
from conspectus.pipelines.estimation.tokens import server_tokens
from conspectus.prompts.client.reply_cache import KIND, ReplyMemo
from conspectus.prompts.model import Reply
from conspectus.prompts.replies.records import Records, read_records
from conspectus.prompts.replies.typed import read_choice
from conspectus.storage.errors import BadAnswer, IndexUnusable
from conspectus.storage.index import Index
from conspectus.storage.manifest import current_manifest
from conspectus.storage.memo import Memo
from conspectus.storage.records import Chunk, Entity, Relation

_AS_GOOD = 2
"""So many observations count as much as what is known beforehand."""
_LOOKED_AT = 200
"""Chunks whose later replies are looked for in the memo."""


@dataclass(frozen=True, slots=True)
class Later:
    """Remembered replies that are reports, and those that are summaries."""

    reports: tuple[Reply, ...] = ()
    summaries: tuple[Reply, ...] = ()


def learn(known: Habits, found: Sequence[Observed], later: Later, texts: Mapping[str, str]) -> Habits:
    """Return the habits that the remembered replies show; where there are few, mixed with those known beforehand.

    `found` are the replies to chunks, `texts` the chunks' texts by digest.
    """
    firsts = [_First.of(each, known, texts) for each in found if each.request.step == "extract"]
    habits = _of_extraction(known, firsts)
    habits = _of_gleaning(habits, known, found, firsts, texts)
    habits = _of_claims(habits, known, [each for each in found if each.request.step == "claims"], texts)
    return replace(
        habits,
        report=_seen([server_tokens(each.text) for each in later.reports]),
        summary=_seen([server_tokens(each.text) for each in later.summaries]),
        prompt_tokens=_ratio(
            [(each.reply.prompt_tokens, each.prompt_tokens) for each in found if not each.reply.estimated]
        ),
        completion_tokens=_ratio(
            [
                (each.completion_tokens, server_tokens(each.text))
                for each in (*(one.reply for one in found), *later.reports, *later.summaries)
                if not each.estimated
            ]
        ),
    )


def certainty(found: Sequence[Observed]) -> float:
    """Return how far the replies to chunks are known: 0 with none, near 1 with many."""
    return _share(sum(each.request.step == "extract" for each in found))


@dataclass(frozen=True, slots=True)
class _First:
    """A first reply to a chunk: its records, its tokens, and how many entities were to be expected."""

    chunk: str
    records: Records
    tokens: float
    expected: float

    @classmethod
    def of(cls, seen: Observed, known: Habits, texts: Mapping[str, str]) -> "_First":
        source = seen.request.sources[0]
        return cls(
            source, read_records(seen.reply.text), server_tokens(seen.reply.text), _expected(texts[source], known)
        )


def _expected(text: str, habits: Habits) -> float:
    return habits.entities_of(server_tokens(text), len(names_in(text)) if has_capitals(text) else None)


def _of_extraction(known: Habits, firsts: Sequence[_First]) -> Habits:
    if not firsts:
        return known
    share = _share(len(firsts))
    entities = sum(len(each.records.entities) for each in firsts)
    relations = sum(len(each.records.relations) for each in firsts)
    tokens = sum(each.tokens for each in firsts)
    if not entities + relations:
        return replace(
            known,
            entities=known.entities * (1 - share),
            beside_records=share * tokens / len(firsts),
        )
    as_known = entities * known.entity_tokens + relations * known.relation_tokens
    length = 1 + share * (tokens / as_known - 1)
    factor = 1 + share * (entities / sum(each.expected for each in firsts) - 1)
    related = relations / entities if entities else known.relations_an_entity
    return replace(
        known,
        entities=known.entities * factor,
        relations_an_entity=Seen(related, share).beside(known.relations_an_entity),
        entity_tokens=known.entity_tokens * length,
        relation_tokens=known.relation_tokens * length,
    )


def _of_gleaning(
    habits: Habits, known: Habits, found: Sequence[Observed], firsts: Sequence[_First], texts: Mapping[str, str]
) -> Habits:
    answers = [_says_yes(each.reply) for each in found if each.request.step == "glean_more"]
    if answers:
        seen = Seen(sum(answers) / len(answers), _share(len(answers)))
        habits = replace(habits, yes=seen.beside(known.yes))
    gleans = [each for each in found if each.request.step == "glean"]
    first_of = {each.chunk: each for each in firsts}
    before = sum(_count(first_of[each.request.sources[0]].records) for each in gleans)
    if before:
        seen = Seen(sum(_count(read_records(each.reply.text)) for each in gleans) / before, _share(len(gleans)))
        habits = replace(habits, gleaned=seen.beside(known.gleaned))
    return habits


def _of_claims(habits: Habits, known: Habits, found: Sequence[Observed], texts: Mapping[str, str]) -> Habits:
    if not found:
        return habits
    share = _share(len(found))
    count = sum(len(read_records(each.reply.text).claims) for each in found)
    expected = sum(known.claims_of(server_tokens(texts[each.request.sources[0]])) for each in found)
    tokens = sum(server_tokens(each.reply.text) for each in found)
    return replace(
        habits,
        claims=known.claims * (1 + share * (count / expected - 1)),
        claim_tokens=Seen(tokens / count, share).beside(known.claim_tokens) if count else known.claim_tokens,
    )


def _count(records: Records) -> int:
    return len(records.entities) + len(records.relations)


def _says_yes(reply: Reply) -> bool:
    try:
        return read_choice(reply.text, ("Yes", "No")) == "Yes"
    except BadAnswer:
        return False


def _share(observations: int) -> float:
    return observations / (observations + _AS_GOOD)


def _seen(tokens: Sequence[float]) -> Seen:
    return Seen(sum(tokens) / len(tokens), _share(len(tokens))) if tokens else Seen()


def _ratio(pairs: Sequence[tuple[float, float]]) -> float:
    """Return tokens of the server for one of ours; a handful of replies settles it."""
    ours = sum(each for _, each in pairs)
    return sum(each for each, _ in pairs) / ours if ours else 1.0


def chunks_of_the_version(index: Path) -> list[Chunk]:
    """Return the chunks of the version in force; none where there is no readable one."""
    try:
        manifest = current_manifest(index)
        return Index(index, manifest).rows(Chunk) if manifest else []
    except IndexUnusable:
        return []


def later_replies(index: Path, memo: Memo, sources: Collection[str]) -> Later:
    """Return the remembered reports and summaries that some chunks went into, in the order of their keys.

    A summary is told from other texts by what stands in the version in force: it is a description there.
    """
    some = sorted(sources)[:_LOOKED_AT]
    keys = sorted({key for source in some for kind, key in memo.made_from(source) if kind == KIND})
    if not keys:
        return Later()
    replies = asyncio.run(_replies(memo, keys))
    described = _descriptions(index)
    return Later(
        tuple(each for each in replies if each.text.lstrip().startswith("{") and '"findings"' in each.text),
        tuple(each for each in replies if " ".join(each.text.split()) in described),
    )


async def _replies(memo: Memo, keys: Iterable[str]) -> list[Reply]:
    replies = ReplyMemo(memo)
    found = await asyncio.gather(*(replies.get(key) for key in keys))
    return [each for each in found if each is not None]


def _descriptions(index: Path) -> set[str]:
    try:
        manifest = current_manifest(index)
        if manifest is None:
            return set()
        opened = Index(index, manifest)
        entities, relations = opened.rows(Entity), opened.rows(Relation)
        return {each.description for each in entities} | {each.description for each in relations}
    except IndexUnusable:
        return set()
