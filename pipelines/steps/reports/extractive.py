"""Reports on communities that quote the documents: extractive summaries with citations.

Each community of `reports.min_size` entities or more gets one report, even if it is on several levels. Its findings are
the distinct sentences that together are most informative about its members within `reports.max_tokens`. Reports of
coarse communities are not longer than those of fine ones: there are fewer, which makes a coarse level short.

Sentences are chosen by budgeted maximum coverage. A sentence covers the members and the words that it contains;
what an earlier choice covers counts no more. The greedy rule, gain over a power of the cost, is that of
Lin and Bilmes (2010), "Multi-document summarization via budgeted maximization of submodular functions", section 4.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from conspectus.pipelines.steps.reports.titles import NAMES_IN_TITLE, Titles
from conspectus.pipelines.steps.sentences import SentenceIndex, Sentences, WordRows
from conspectus.storage.arrays import Floats, Ints, Rows, gather
from conspectus.storage.hashing import short_id
from conspectus.storage.records import Community, Document, Entity, Finding, Report
from conspectus.storage.settings import ReportSettings
from conspectus.storage.spilled import few_as_list, sorted_rows
from conspectus.storage.tables import arrow_of, codes_of
from conspectus.storage.text.nlp import CONCEPT
from conspectus.storage.text.tokens import count_each, count_tokens


def report_communities(
    communities: Sequence[Community],
    entities: Sequence[Entity],
    sentences: Sentences,
    n_chunks: int,
    settings: ReportSettings,
    documents: Sequence[Document] = (),
) -> Sequence[Report]:
    """Return the reports, sorted by id; communities without a quotable sentence get none.

    The headings of `documents` provide titles for communities whose sentences are under one of them.
    """
    by_id = _Members(entities)
    told = (each for each in communities if each.same_as is None and each.size >= settings.min_size and each.chunk_ids)
    titles = Titles(documents, sentences.placed)

    def made() -> Iterator[Report]:
        while block := list(islice(told, _COMMUNITIES_AT_ONCE)):
            members = [leading(list(map(by_id.__getitem__, each.entity_ids))) for each in block]
            titled = [titles.of(each) for each in members]
            heads = count_each(f"# {title}" for title in titled)
            for community, of_community, title, head in zip(block, members, titled, heads, strict=True):
                rows_of = [sentences.placed.of_entity.get(member.id, _NO_ROWS) for member in of_community]
                chosen = most_telling(sentences, rows_of, settings.findings, settings.max_tokens - head)
                if chosen:
                    findings = [_finding(row, of_community, rows_of, sentences.placed) for row in chosen]
                    tokens = head + sum(_TOKENS_A_MARK + _tokens(row, sentences) for row in chosen)
                    yield _report(community, title, findings, n_chunks, tokens)

    return few_as_list(sorted_rows(Report, made()))


class _Members:
    """The entities by id, with what reports read of them; each is made when it is asked for."""

    def __init__(self, entities: Sequence[Entity]) -> None:
        table = arrow_of(Entity, entities, ["id", "name", "type", "frequency"])
        self._row_of = {id_: row for row, id_ in enumerate(table["id"].to_pylist())}
        self._names = table["name"].to_pylist()
        kinds, self._kinds = codes_of(table["type"])
        self._kind, self._frequency = kinds.astype(np.int32), table["frequency"].to_numpy()

    def __getitem__(self, id_: str) -> Entity:
        row = self._row_of[id_]
        kind = self._kinds[self._kind[row]]
        return Entity(id_, self._names[row], kind, (kind,), "", int(self._frequency[row]), 0)


def _finding(row: int, members: Sequence[Entity], rows_of: Sequence[Rows], sentences: SentenceIndex) -> Finding:
    named = (member.name for member, rows in zip(members, rows_of, strict=True) if _has(rows, row))
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


def _report(community: Community, title: str, findings: Sequence[Finding], n_chunks: int, n_tokens: int) -> Report:
    # A finding's summary consists of names in it, and the report's is its first finding: neither is repeated.
    full_text = "\n".join([f"# {title}", "", *(f"- {finding.explanation}" for finding in findings)])
    return Report(
        id=short_id("report", community.id),
        community_id=community.id,
        level=community.level,
        title=title,
        summary=findings[0].explanation,
        findings=tuple(findings),
        rating=_rating(len(community.chunk_ids), n_chunks),
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


_COMMUNITIES_AT_ONCE = 1_000
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
