"""Reports on communities that quote the documents: extractive summaries with citations.

Each community of `reports.min_size` entities or more gets one report, even if it is on several levels. Its findings are
the distinct sentences that together are most informative about its members within `MOST_TOKENS`. Reports of
coarse communities are not longer than those of fine ones: there are fewer, which makes a coarse level short.

Sentences are chosen by budgeted maximum coverage. A sentence covers the members and the words that it contains;
what an earlier choice covers counts no more. The greedy rule, gain over a power of the cost, is that of
Lin and Bilmes (2010), "Multi-document summarization via budgeted maximization of submodular functions", section 4.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from conspectus.pipelines.steps.reports.titles import NAMES_IN_TITLE, Titles
from conspectus.pipelines.steps.sentences import RowsOf, SentenceIndex, Sentences, WordRows
from conspectus.storage.arrays import Floats, Ints, Rows, gather, parts_of
from conspectus.storage.hashing import short_id
from conspectus.storage.records import Community, Document, Entity, Finding, Report
from conspectus.storage.spilled import few_as_list, in_blocks, sorted_rows
from conspectus.storage.tables import arrow_of, batches_of, rows_among, rows_of_ids, taken
from conspectus.storage.text.nlp import CONCEPT
from conspectus.storage.text.tokens import count_each, count_tokens

if TYPE_CHECKING:
    import pyarrow as pa

FINDINGS, MOST_TOKENS = 5, 200  # at most in a report, which people read quickly; 40 fill a prompt


def report_communities(
    communities: Sequence[Community],
    entities: Sequence[Entity],
    sentences: Sentences,
    n_chunks: int,
    min_size: int,
    documents: Sequence[Document] = (),
) -> Sequence[Report]:
    """Return the reports, sorted by id; communities without a quotable sentence get none.

    The headings of `documents` provide titles for communities whose sentences are under one of them.
    """
    titles = Titles(documents, sentences.placed)

    def made() -> Iterator[Report]:
        for block in _reported(communities, entities, sentences.placed.of_entity, min_size):
            titled = [titles.of(each.members, each.rows_of) for each in block]
            heads = count_each(f"# {title}" for title in titled)
            for reported, title, head in zip(block, titled, heads, strict=True):
                chosen = most_telling(sentences, reported.rows_of, FINDINGS, MOST_TOKENS - head)
                if chosen:
                    findings = [_finding(row, reported, sentences.placed) for row in chosen]
                    tokens = head + sum(_TOKENS_A_MARK + _tokens(row, sentences) for row in chosen)
                    yield _report(reported, title, findings, n_chunks, tokens)

    return few_as_list(sorted_rows(Report, in_blocks(Report, made())))


class _Reported(NamedTuple):
    """A community that is reported on: its members in the order of display, and the sentence rows that name each."""

    id: str
    level: int
    n_chunks: int
    members: Sequence[Entity]
    rows_of: Sequence[Rows]


def _reported(
    communities: Sequence[Community], entities: Sequence[Entity], named: RowsOf, least: int
) -> Iterator[list[_Reported]]:
    """Yield the communities that are reported on, in blocks."""
    from pyarrow import compute

    table = arrow_of(Community, communities, ["id", "level", "same_as", "chunk_ids", "size", "entity_ids"])
    known = arrow_of(Entity, entities, ["id", "name", "type", "frequency"])
    n_chunks, sizes = compute.list_value_length(table["chunk_ids"]).to_numpy(), table["size"].to_numpy()
    wanted = np.flatnonzero(table["same_as"].is_null().to_numpy() & (sizes >= least) & (n_chunks > 0))
    batches, batches_of_known = batches_of(table), batches_of(known)
    named_row = rows_among(known["id"], named.ids)

    def blocks() -> Iterator[tuple["pa.Table", Rows, Ints]]:
        # Looking ids up takes as long as reading all ids of entities, so it is done for many at once.
        for first, last in parts_of(np.append(0, np.cumsum(sizes[wanted])), _IDS_AT_ONCE):
            found = taken(table, wanted[first:last], batches)
            members = rows_of_ids(compute.list_flatten(found["entity_ids"]), known["id"])
            starts = np.append(0, np.cumsum(compute.list_value_length(found["entity_ids"]).to_numpy()))
            for begin, end in parts_of(starts, _MEMBERS_AT_ONCE):
                own = starts[begin : end + 1]
                yield found.slice(begin, end - begin), members[own[0] : own[-1]], own - own[0]

    for block, members, starts in blocks():
        distinct, place = np.unique(members, return_inverse=True)
        columns = taken(known, distinct, batches_of_known).to_pydict()
        rows_of = dict(zip(columns["id"], named.at(named_row[distinct]), strict=True))
        told = [
            Entity(id_, name, kind, (kind,), "", frequency, 0)
            for id_, name, kind, frequency in zip(*columns.values(), strict=True)
        ]
        reported = []
        for id_, level, count, first, last in zip(
            block["id"].to_pylist(),
            block["level"].to_pylist(),
            compute.list_value_length(block["chunk_ids"]).to_pylist(),
            starts[:-1].tolist(),
            starts[1:].tolist(),
            strict=True,
        ):
            shown = leading([told[each] for each in place[first:last].tolist()])
            reported.append(_Reported(id_, level, count, shown, [rows_of[each.id] for each in shown]))
        yield reported


def _finding(row: int, reported: _Reported, sentences: SentenceIndex) -> Finding:
    named = (member.name for member, rows in zip(reported.members, reported.rows_of, strict=True) if _has(rows, row))
    summary = ", ".join(islice(named, NAMES_IN_TITLE))
    return Finding(summary, " ".join(sentences.text(row).split()), (sentences.span(row),))


def _has(rows: Rows, row: int) -> bool:
    """Return whether ascending rows contain one."""
    place = int(rows.searchsorted(row))
    return place < len(rows) and bool(rows[place] == row)


def _tokens(row: int, sentences: Sentences) -> int:
    """Return the tokens of a sentence on one line. Those of a report are the sum, because words are counted apart."""
    text = sentences.placed.text(row)
    line = " ".join(text.split())
    return int(sentences.n_tokens[row]) if line == text else count_tokens(line)


def _report(reported: _Reported, title: str, findings: Sequence[Finding], n_chunks: int, n_tokens: int) -> Report:
    # A finding's summary consists of names in it, and the report's is its first finding: neither is repeated.
    full_text = "\n".join([f"# {title}", "", *(f"- {finding.explanation}" for finding in findings)])
    return Report(
        id=short_id("report", reported.id),
        community_id=reported.id,
        level=reported.level,
        title=title,
        summary=findings[0].explanation,
        findings=tuple(findings),
        rating=_rating(reported.n_chunks, n_chunks),
        full_text=full_text,
        n_tokens=n_tokens,
    )


def _rating(reached: int, n_chunks: int) -> float:
    """Return a community's share of the corpus on a logarithmic scale, as corpora differ in size; 10 is the most.

    The corpus size is rounded up to a power of two, so that one more chunk does not change all ratings.
    """
    size = 1 << (max(1, n_chunks) - 1).bit_length()
    return round(10 * float(np.log1p(reached) / np.log1p(size)), 2)


def leading(members: Sequence[Entity]) -> list[Entity]:
    """Order members for display: capitalised names first, then by frequency, then by name."""

    def key(each: Entity) -> tuple[bool, int, str, str]:
        return (each.type == CONCEPT or each.name[:1].islower(), -each.frequency, each.name, each.id)

    return sorted(members, key=key)


_IDS_AT_ONCE = 1 << 20
_MEMBERS_AT_ONCE = 1 << 16
_NO_ROWS: Rows = np.zeros(0, np.int64)
_TOKENS_A_MARK = 1
"""The token of the hyphen before each sentence of a list."""
_COST_POWER = 0.3
"""A sentence twice as long must gain 1.23 times as much. The best power that Lin and Bilmes found."""
_WORTH_ADDING = 0.2
"""The least gain of a further sentence, as a share of the first one's gain."""


def most_telling(sentences: Sentences, of_members: Sequence[Rows], count: int, budget: int) -> list[int]:
    """Return up to `count` rows that together cover most about the members within `budget` tokens, the best first.

    `of_members` contains the rows that mention each member. Half of the total value is in the members, each worth the
    logarithm of its mentions; half is in the words that occur in several of the rows, each worth its inverse document
    frequency times the logarithm of that number. If no sentence fits, the shortest is the only one.
    """
    members = np.repeat(np.arange(len(of_members)), [len(rows) for rows in of_members])
    every = np.concatenate([_NO_ROWS, *of_members])
    told = sentences.quotable[every]
    rows, place = np.unique(every[told], return_inverse=True)
    if not len(rows):
        return []
    costs = sentences.n_tokens[rows] + _TOKENS_A_MARK
    if costs.min() > budget:
        return [int(rows[costs.argmin()])]
    covered = [_members(place, members[told], len(of_members)), _words(sentences.weights, rows)]
    chosen: list[int] = []
    least = 0.0
    while len(chosen) < count:
        gains = np.sum([np.bincount(place, worth[what], len(rows)) for place, what, worth in covered], axis=0)
        rates = np.where(costs <= budget, gains / costs**_COST_POWER, 0.0)
        best = int(rates.round(9).argmax())  # ties go to the first in the text
        if rates[best] <= 0 or gains[best] < least:
            break
        least = least or _WORTH_ADDING * gains[best]
        budget -= int(costs[best])
        for place, what, worth in covered:
            worth[what[place == best]] = 0.0
        chosen.append(best)
    return [int(rows[place]) for place in chosen]


_Covered = tuple[Ints, Ints, Floats]
"""What each row covers, as pairs of a place and a thing, and the value of each thing, 0.5 in all."""


def _members(place: Ints, members: Ints, n_members: int) -> _Covered:
    return place, members, _halved(np.log2(1.0 + np.bincount(members, minlength=n_members)))


def _words(weights: WordRows, rows: Rows) -> _Covered:
    sizes, entries = gather(weights.indptr, rows)
    words, what, counts = np.unique(weights.words[entries], return_inverse=True, return_counts=True)
    worth = np.where(counts > 1, np.log2(1.0 + counts), 0.0) * weights.idf[words]
    return np.repeat(np.arange(len(rows)), sizes), what, _halved(worth)


def _halved(worth: Floats) -> Floats:
    halved: Floats = 0.5 * worth / max(float(worth.sum()), 1e-12)
    return halved
