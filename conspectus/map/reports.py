"""The regions' reports with their citations, the entities' documents, and sanitised texts for the page."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from conspectus.storage.index import StoredIndex
from conspectus.storage.locators import described
from conspectus.storage.records import Chunk, Document, Finding, Mention, Merge, Report, Span
from conspectus.storage.text.visible import visible

_MARKS = re.compile("([\u061c\u200e\u200f])")
"""Direction marks that Arabic and Hebrew texts need; their effect ends with the enclosing text."""


def line(text: str) -> str:
    r"""Return a text on one line, with control characters escaped except direction marks.

    >>> print(line("two\n lines \u202e"))
    two lines \u202e
    """
    parts = _MARKS.split(" ".join(text.split()))
    return "".join(part if place % 2 else visible(part) for place, part in enumerate(parts))


def shortened(text: str, most: int) -> str:
    """Return the first characters of a text, to the end of a word if one is near; a truncated text ends in "…".

    >>> shortened("Mara was beginning", 13)
    'Mara was…'
    """
    if len(text) <= most:
        return text
    kept = text[: most - 1]
    end = kept.rfind(" ")
    return f"{kept[:end] if end > most * 0.6 else kept}…"


def rounded(value: float, digits: int) -> float:
    """Return a number that JSON can represent: 0 for NaN and infinity, which other programs may write.

    >>> rounded(2.34567, 2), rounded(float("nan"), 2)
    (2.35, 0.0)
    """
    return round(value, digits) if isfinite(value) else 0.0


class Teller:
    """Shortens texts until together they fill a number of UTF-8 bytes; after that it returns empty texts.

    `cut` and `dropped` count the texts that were truncated or omitted; `left` is the number of remaining bytes.
    """

    def __init__(self, size: int) -> None:
        self.left = size
        self.cut = 0
        self.dropped = 0

    def told(self, text: str, most: int) -> str:
        """Return at most `most` characters of a text; "" if there is no more room."""
        whole = line(text)
        short = shortened(whole, most)
        if not self.has(len(short.encode())):
            self.dropped += bool(whole)
            return ""
        self.cut += short != whole
        return short

    def has(self, size: int) -> bool:
        """Reserve bytes and return whether they were available; if not, nothing remains for smaller requests either."""
        self.left = self.left - size if size <= self.left else 0
        return self.left > 0


_NAME, _TITLE, _SUMMARY, _HEAD, _EXPLANATION, _QUOTE = 120, 200, 1500, 300, 1200, 500
"""Maximum characters of each kind of text."""
_FINDINGS, _CITATIONS, _DOCUMENTS, _ALIASES = 15, 6, 12, 20
"""Maximum findings of a report, citations of a finding, and documents and other names of an entity."""
_FRAME = 90
"""Approximate bytes of a finding or a citation without its texts."""


@dataclass(slots=True)
class Shelf:
    """The documents that the page names, numbered in the order of first use."""

    by_id: Mapping[str, Document]
    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, id_: str) -> int:
        """Return the number of a document."""
        return self.numbers.setdefault(id_, len(self.numbers))

    def told(self) -> dict[str, list[str]]:
        """Return titles and addresses by number; a document without a title is named by its address."""
        named = [self.by_id[id_] for id_ in self.numbers]
        return {
            "title": [shortened(line(item.title or item.uri or item.id), _TITLE) for item in named],
            "uri": [line(item.uri) for item in named],
        }


def told_reports(reports: Sequence[Report | None], shelf: Shelf, teller: Teller) -> list[dict[str, Any] | None]:
    """Return each region's report, None if it has none; coarse and highly rated ones get space first."""
    found: list[dict[str, Any] | None] = [None] * len(reports)
    there = [(report, row) for row, report in enumerate(reports) if report is not None]
    for report, row in sorted(there, key=lambda pair: (pair[0].level, -rounded(pair[0].rating, 2), pair[0].id)):
        summary = teller.told(report.summary, _SUMMARY)
        findings = [_finding(finding, shelf, teller) for finding in report.findings[:_FINDINGS] if teller.has(_FRAME)]
        found[row] = {
            "summary": summary,
            "rating": rounded(report.rating, 2),
            "findings": findings,
            "more": len(report.findings) - len(findings),
        }
    return found


def _finding(finding: Finding, shelf: Shelf, teller: Teller) -> dict[str, Any]:
    return {
        "summary": teller.told(finding.summary, _HEAD),
        "explanation": teller.told(finding.explanation, _EXPLANATION),
        "citations": _citations(finding.citations, shelf, teller, finding.explanation),
        "more": max(len(set(finding.citations)) - _CITATIONS, 0),
    }


def _citations(spans: Sequence[Span], shelf: Shelf, teller: Teller, said: str) -> list[dict[str, Any]]:
    """Return the quotations of spans; a quotation that equals the finding is not repeated."""
    found: list[dict[str, Any]] = []
    for span in dict.fromkeys(spans):
        document = shelf.by_id.get(span.document_id)
        if document is None or not 0 <= span.start < span.end <= document.n_chars or len(found) == _CITATIONS:
            continue
        if not teller.has(_FRAME):
            break
        quote = document.text[span.start : span.end]
        same = line(quote) == line(said)
        found.append(
            {
                "document": shelf.number(document.id),
                "start": span.start,
                "end": span.end,
                "place": line(described(document.places, span.start, span.end)),
                "quote": None if same else teller.told(quote, _QUOTE),
            }
        )
    return found


def documents_of(index: StoredIndex, row_of: Mapping[str, int], shelf: Shelf) -> list[list[int]]:
    """Return for each entity the numbers of the documents that mention it, most mentions first, and how many more."""
    document_of = {chunk.id: chunk.document_id for chunk in index.rows(Chunk)}
    mentions = index.arrow(Mention, "chunk_id", "entity_id")
    counted: defaultdict[int, Counter[str]] = defaultdict(Counter)
    pairs: Iterable[tuple[str, str | None]] = zip(
        mentions.column("chunk_id").to_pylist(), mentions.column("entity_id").to_pylist(), strict=True
    )
    for chunk, entity in pairs:
        if entity is not None and entity in row_of:
            counted[row_of[entity]][document_of[chunk]] += 1
    found: list[list[int]] = []
    for row in range(len(row_of)):
        ids = sorted(counted[row], key=lambda id_: (-counted[row][id_], id_))
        found.append([max(len(ids) - _DOCUMENTS, 0), *(shelf.number(id_) for id_ in ids[:_DOCUMENTS])])
    return found


def aliases_of(index: StoredIndex, row_of: Mapping[str, int]) -> dict[int, list[str]]:
    """Return the aliases of entities that have any, by the row of the entity."""
    found: defaultdict[int, list[str]] = defaultdict(list)
    for merge in index.rows(Merge):
        if not merge.undone and merge.entity_id in row_of and merge.alias != merge.name:
            found[row_of[merge.entity_id]].append(shortened(line(merge.alias), _NAME))
    return {row: sorted(set(names))[:_ALIASES] for row, names in found.items()}
