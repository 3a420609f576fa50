"""Turn a model's report into findings with citations; findings that cite no record are dropped and reported."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from conspectus.pipelines.steps.reports.prompt import CitedRecord, in_text_order
from conspectus.prompts.replies.prose import Rating
from conspectus.storage.records import Chunk, Finding, Span
from conspectus.storage.text.sentences import sentence_spans
from pydantic import BaseModel, Field, field_validator

_LABEL = re.compile(r"\b[SERC]\d+(?:\.\d+)?\b")
_LABELS = re.compile(rf"\s*[\[(]\s*({_LABEL.pattern}(?:(?:\s*[,;]\s*|\s+(?:and\s+)?){_LABEL.pattern})*)\s*[\])]")
_SPANS_A_RECORD = 3
"""Maximum number of spans that a finding cites per record; an entity may have hundreds."""


class FindingAnswer(BaseModel):
    """A finding as a model writes it; `records` are numbers of the prompt's records."""

    summary: str
    explanation: str
    records: list[str] = []

    @field_validator("records", mode="before")
    @classmethod
    def _as_list(cls, given: object) -> object:
        """Accept a single text as a list of one, and bare numbers as (unknown) records."""
        if isinstance(given, str):
            return [given]
        if isinstance(given, list):
            return [str(value) if isinstance(value, int | float) else value for value in given]
        return [] if given is None else given


class ReportAnswer(BaseModel):
    """A report as stated by a model."""

    title: str = Field(pattern=r"\S")
    summary: str = Field(pattern=r"\S")
    rating_explanation: str = ""
    rating: Rating = Field(ge=0, le=10)
    findings: list[FindingAnswer]


@dataclass(frozen=True, slots=True)
class Supported:
    """The findings supported by records, the unknown record numbers, and the unsupported findings."""

    findings: tuple[Finding, ...]
    unknown: tuple[str, ...]
    unsupported: tuple[str, ...]


def supported(
    answer: ReportAnswer, cited: Mapping[str, CitedRecord], chunks: Mapping[str, Chunk], *, places: bool = True
) -> Supported:
    """Return the findings with the places of their records, the best first.

    Without `places`, records without places support a finding too, because no document states them.

    Up to three places of each record are used: first those in chunks shared with most of the finding's other records,
    then in text order. Places that state something precede places that only name an entity; for the latter the whole
    sentence is cited. Record numbers within a text are treated as citations and removed.
    """
    findings: list[Finding] = []
    unknown: list[str] = []
    unsupported: list[str] = []
    for finding in answer.findings:
        explanation = without_labels(finding.explanation, cited) or without_labels(finding.summary, cited)
        named = [label for entry in finding.records for label in _LABEL.findall(entry.upper()) or [entry]]
        named += _labels_in(f"{finding.summary} {finding.explanation}", cited)
        unknown += [label for label in dict.fromkeys(named) if label not in cited]
        known = [cited[label] for label in dict.fromkeys(named) if label in cited]
        spans = places_of(known, chunks)
        if (spans or (known and not places)) and explanation:
            findings.append(Finding(without_labels(finding.summary, cited), explanation, spans))
        else:
            unsupported.append(finding.summary or finding.explanation)
    return Supported(tuple(findings), tuple(unknown), tuple(unsupported))


def without_labels(text: str, cited: Mapping[str, CitedRecord]) -> str:
    """Return the text on one line and without its record numbers [E1, R2], which are meaningless outside a prompt."""
    shown = _LABELS.sub(lambda group: "" if _all_known(group, cited) else group[0], text)
    return " ".join(shown.split())


def _labels_in(text: str, cited: Mapping[str, CitedRecord]) -> list[str]:
    groups = [group for group in _LABELS.finditer(text) if _all_known(group, cited)]
    return [label for group in groups for label in _LABEL.findall(group[1])]


def _all_known(group: re.Match[str], cited: Mapping[str, CitedRecord]) -> bool:
    """Return whether these are all records: (E300) may be a word in the documents."""
    return all(label in cited for label in _LABEL.findall(group[1]))


def places_of(records: Sequence[CitedRecord], chunks: Mapping[str, Chunk]) -> tuple[Span, ...]:
    """Return the places cited by a finding that is based on these records, the best first (see `supported`)."""
    shared = Counter(chunk_id for record in records for chunk_id in {span.chunk_id for span in record.spans})

    def nearness(span: Span) -> tuple[int, tuple[str, int, int, str]]:
        return (-shared[span.chunk_id], in_text_order(span))

    chosen = [
        (record.is_name, nearness(span), sentence_around(chunks[span.chunk_id], span) if record.is_name else span)
        for record in records
        for span in sorted(record.spans, key=nearness)[:_SPANS_A_RECORD]
    ]
    return tuple(dict.fromkeys(span for _, _, span in sorted(chosen, key=lambda place: place[:2])))


def sentence_around(chunk: Chunk, span: Span) -> Span:
    """Return the sentence (or sentences) of the chunk that contain a span."""
    around = [
        (chunk.start + start, chunk.start + end)
        for start, end in _sentences_of(chunk.text)
        if chunk.start + start < span.end and span.start < chunk.start + end
    ]
    if not around:
        return span
    return Span(span.document_id, span.chunk_id, min(span.start, around[0][0]), max(span.end, around[-1][1]))


@lru_cache(maxsize=4096)
def _sentences_of(text: str) -> tuple[tuple[int, int], ...]:
    """Return the sentences of a chunk's text, which many findings cite."""
    return tuple(sentence_spans(text))
