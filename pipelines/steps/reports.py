"""What a community is about, in the corpus's own sentences: extractive reports with citations.

Each community of `reports.min_size` entities or more gets one report, however many levels it stands on. Its
findings are the sentences that together tell most about its members within `reports.max_tokens`, each once. Coarse
communities get no longer reports than fine ones: they are fewer, which is what makes a coarse level short.
"""

from collections.abc import Sequence

import numpy as np
from conspectus.pipelines.steps.sentence_index import Sentences
from conspectus.pipelines.steps.sentence_selection import most_telling
from conspectus.storage.arrays import Rows
from conspectus.storage.hashing import short_id
from conspectus.storage.records import Community, Entity, Finding, Report
from conspectus.storage.settings import ReportSettings
from conspectus.storage.tables import sorted_by_id
from conspectus.storage.text.nlp import CONCEPT
from conspectus.storage.text.tokens import count_tokens

NAMES_IN_TITLE = 3


def report_communities(
    communities: Sequence[Community],
    entities: Sequence[Entity],
    sentences: Sentences,
    n_chunks: int,
    settings: ReportSettings,
) -> list[Report]:
    """Return the reports, sorted by id; communities without a quotable sentence get none."""
    by_id = {each.id: each for each in entities}
    reports = []
    for community in communities:
        if community.same_as is None and community.size >= settings.min_size and community.chunk_ids:
            members = leading([by_id[id_] for id_ in community.entity_ids])
            title = ", ".join(each.name for each in members[:NAMES_IN_TITLE])
            findings = _findings(members, sentences, settings, count_tokens(f"# {title}"))
            if findings:
                reports.append(_report(community, title, findings, n_chunks))
    return sorted_by_id(reports)


def _findings(members: Sequence[Entity], sentences: Sentences, settings: ReportSettings, used: int) -> list[Finding]:
    rows_of = {each.id: sentences.of_entity[each.id] for each in members if each.id in sentences.of_entity}
    chosen = most_telling(sentences, list(rows_of.values()), settings.findings, settings.max_tokens - used)
    return [_finding(row, members, rows_of, sentences) for row in chosen]


def _finding(row: int, members: Sequence[Entity], rows_of: dict[str, Rows], sentences: Sentences) -> Finding:
    named = [each for each in members if each.id in rows_of and row in rows_of[each.id]]
    summary = ", ".join(each.name for each in named[:NAMES_IN_TITLE])
    return Finding(summary, " ".join(sentences.texts[row].split()), (sentences.spans[row],))


def _report(community: Community, title: str, findings: Sequence[Finding], n_chunks: int) -> Report:
    # A finding's summary are names that stand in it, and the report's is its first finding: both are said once.
    full_text = "\n".join([f"# {title}", "", *(f"- {each.explanation}" for each in findings)])
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

    The corpus counts as the next power of two, so that a chunk more does not change the ratings of all.
    """
    size = 1 << (max(1, n_chunks) - 1).bit_length()
    return round(10 * float(np.log1p(reached) / np.log1p(size)), 2)


def leading(members: Sequence[Entity]) -> list[Entity]:
    """Order members for display: names before what is written small, then by frequency, then by name."""

    def key(each: Entity) -> tuple[bool, int, str, str]:
        return (each.type == CONCEPT or each.name[:1].islower(), -each.frequency, each.name, each.id)

    return sorted(members, key=key)
