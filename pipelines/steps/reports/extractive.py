"""Reports on communities that quote the documents: extractive summaries with citations.

Each community of `reports.min_size` entities or more gets one report, even if it is on several levels. Its findings are
the distinct sentences that together are most informative about its members within `reports.max_tokens`. Reports of
coarse communities are not longer than those of fine ones: there are fewer, which makes a coarse level short.

Sentences are chosen by budgeted maximum coverage. A sentence covers the members and the words that it contains;
what an earlier choice covers counts no more. The greedy rule, gain over a power of the cost, is that of
Lin and Bilmes (2010), "Multi-document summarization via budgeted maximization of submodular functions", section 4.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from conspectus.pipelines.steps.reports.titles import NAMES_IN_TITLE, Titles
from conspectus.pipelines.steps.sentences import Sentences
from conspectus.storage.arrays import Floats, Rows
from conspectus.storage.hashing import short_id
from conspectus.storage.records import Community, Document, Entity, Finding, Report
from conspectus.storage.settings import ReportSettings
from conspectus.storage.tables import sorted_by_id
from conspectus.storage.text.nlp import CONCEPT
from conspectus.storage.text.tokens import count_tokens

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def report_communities(
    communities: Sequence[Community],
    entities: Sequence[Entity],
    sentences: Sentences,
    n_chunks: int,
    settings: ReportSettings,
    documents: Sequence[Document] = (),
) -> list[Report]:
    """Return the reports, sorted by id; communities without a quotable sentence get none.

    The headings of `documents` provide titles for communities whose sentences are under one of them.
    """
    by_id = {entity.id: entity for entity in entities}
    titles = Titles(documents, sentences)
    reports = []
    for community in communities:
        if community.same_as is None and community.size >= settings.min_size and community.chunk_ids:
            members = leading([by_id[id_] for id_ in community.entity_ids])
            title = titles.of(members)
            findings = _findings(members, sentences, settings, count_tokens(f"# {title}"))
            if findings:
                reports.append(_report(community, title, findings, n_chunks))
    return sorted_by_id(reports)


def _findings(members: Sequence[Entity], sentences: Sentences, settings: ReportSettings, used: int) -> list[Finding]:
    rows_of = {member.id: sentences.of_entity[member.id] for member in members if member.id in sentences.of_entity}
    chosen = most_telling(sentences, list(rows_of.values()), settings.findings, settings.max_tokens - used)
    return [_finding(row, members, rows_of, sentences) for row in chosen]


def _finding(row: int, members: Sequence[Entity], rows_of: dict[str, Rows], sentences: Sentences) -> Finding:
    named = [member for member in members if member.id in rows_of and row in rows_of[member.id]]
    summary = ", ".join(member.name for member in named[:NAMES_IN_TITLE])
    return Finding(summary, " ".join(sentences.texts[row].split()), (sentences.spans[row],))


def _report(community: Community, title: str, findings: Sequence[Finding], n_chunks: int) -> Report:
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
        n_tokens=count_tokens(full_text),
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
    rows = np.unique(np.concatenate([np.zeros(0, np.int64), *of_members]))
    rows = rows[sentences.quotable[rows]]
    if not len(rows):
        return []
    costs = sentences.n_tokens[rows] + _TOKENS_A_MARK
    if costs.min() > budget:
        return [int(rows[costs.argmin()])]
    told = [_members(rows, of_members), _words(sentences, rows)]
    chosen: list[int] = []
    least = 0.0
    while len(chosen) < count:
        gains = np.sum([holds @ worth for holds, worth in told], axis=0)
        rates = np.where(costs <= budget, gains / costs**_COST_POWER, 0.0)
        best = int(rates.round(9).argmax())  # ties go to the first in the text
        if rates[best] <= 0 or gains[best] < least:
            break
        least = least or _WORTH_ADDING * gains[best]
        budget -= int(costs[best])
        for holds, worth in told:
            worth[holds.indices[holds.indptr[best] : holds.indptr[best + 1]]] = 0.0
        chosen.append(best)
    return [int(rows[place]) for place in chosen]


def _members(rows: Rows, of_members: Sequence[Rows]) -> "tuple[csr_array, Floats]":
    """Return a 0/1 matrix of the members that each row mentions (n, members), and the value of each, 0.5 in all."""
    from scipy.sparse import csr_array

    found = [np.flatnonzero(np.isin(rows, of_member)) for of_member in of_members]
    counts = np.array([len(row) for row in found])
    places = (np.concatenate(found), np.repeat(np.arange(len(found)), counts))
    return csr_array((np.ones(counts.sum()), places), shape=(len(rows), len(found))), _halved(np.log2(1.0 + counts))


def _words(sentences: Sentences, rows: Rows) -> "tuple[csr_array, Floats]":
    """Return a 0/1 matrix of the words that each row contains (n, words), and the value of each, 0.5 in all."""
    from scipy.sparse import csr_array

    own = sentences.weights[rows]
    holds = csr_array((np.ones(own.nnz), own.indices, own.indptr), shape=own.shape)
    counts = np.bincount(own.indices, minlength=own.shape[1])
    return holds, _halved(np.where(counts > 1, np.log2(1.0 + counts), 0.0) * sentences.idf)


def _halved(worth: Floats) -> Floats:
    halved: Floats = 0.5 * worth / max(float(worth.sum()), 1e-12)
    return halved
