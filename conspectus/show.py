"""Results as text for people and as JSON for programs."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from query.types import Answer, Citation, Evidence, Passage, Usage
from storage.index import Manifest
from storage.records import Failure
from storage.tables import TABLES

if TYPE_CHECKING:
    from conspectus.doctor import Check


def build(done: Mapping[str, Any]) -> str:
    """Return what a build did in a few lines."""
    if done["unchanged"]:
        first = f"{done['index']}: unchanged, version {done['version']} ({done['seconds']:.1f} s)"
    else:
        first = f"{done['index']}: published version {done['version']} in {done['seconds']:.1f} s"
    rows = done["rows"]
    tables = ("documents", "chunks", "entities", "relations", "reports")
    counted = ", ".join(_count(rows[name], name) for name in tables)
    lines = [first, f"  {counted}"]
    if done["failures"]:
        lines.append(
            f"  {_count(done['failures'], 'failures')} ({done['failed_share']:.1%} of the items); "
            f"see: conspectus status --failures --index {shlex.quote(done['index'])}"
        )
    return "\n".join(lines)


def support(found: Answer, trace: bool) -> str:
    """Return what stands below an answer: its citations, what it took, and the steps behind it where wanted."""
    lines = []
    for each in found.citations:
        lines += ["", f"[{each.number}] {each.title} ({_where(each.uri, each)})"]
        lines.append(f'    "{_one_line(each.quote)}"')
    lines += ["", f"method {found.method}, {_took(found.usage)}"]
    if found.dropped_citations:
        lines.append(f"{_count(found.dropped_citations, 'citations')} did not resolve and were dropped")
    if trace:
        lines += ["", "trace", *(f"  {step.name}: {step.detail}" for step in found.trace)]
    return "\n".join(lines)


def _took(usage: Usage) -> str:
    parts = [f"{usage.seconds:.2f} s", _count(usage.calls, "model calls")]
    if usage.calls:
        parts.append(_count(usage.prompt_tokens + usage.completion_tokens, "tokens"))
        parts.append("cost unknown (llm.prices)" if usage.cost is None else f"${usage.cost:.6f}")
    if usage.remembered:
        parts.append(f"{usage.remembered} remembered")
    return ", ".join(parts)


def answer_json(found: Answer) -> dict[str, Any]:
    """Return an answer in the form of `conspectus ask --json`."""
    return {
        "question": found.question,
        "method": found.method,
        "answer": found.text,
        "known": found.known,
        "citations": [asdict(each) for each in found.citations],
        "usage": asdict(found.usage),
        "trace": [asdict(each) for each in found.trace],
        "dropped_citations": found.dropped_citations,
    }


def evidence(found: Evidence) -> str:
    """Return passages, best first."""
    if not found.passages:
        return "nothing found"
    lines = []
    for rank, each in enumerate(found.passages, start=1):
        lines.append(f"{rank}. {each.title} ({_where(each.document_id, each)}, {each.score:.4f})")
        text = _one_line(each.text)
        lines.append(f"   {text if len(text) <= 300 else text[:300] + ' ...'}")
    return "\n".join(lines)


def evidence_json(question: str, method: str, found: Evidence) -> dict[str, Any]:
    """Return passages in the form of `conspectus retrieve --json`."""
    return {
        "question": question,
        "method": method,
        "passages": [asdict(each) for each in found.passages],
        "trace": [asdict(each) for each in found.trace],
    }


def status(manifest: Manifest, lost: Sequence[Failure], list_failures: bool) -> str:
    """Return what an index holds."""
    size = sum(int(each["bytes"]) for each in manifest.files.values())
    lines = [f"version {manifest.version}, format {manifest.format_version}, {size / 1e6:.1f} MB"]
    lines += [f"  {manifest.rows[name]:>9,} {name}" for name in TABLES]
    lines += [f"models: {', '.join(f'{kind} {name}' for kind, name in manifest.models.items())}"]
    if list_failures:
        lines += [_failure(each) for each in lost] or ["nothing was lost"]
    return "\n".join(lines)


def scores(result: Mapping[str, Any]) -> str:
    """Return a table of methods and metrics, each mean with its 95 % interval."""
    by_method: Mapping[str, Any] = result["methods"]
    metrics = [name for name in next(iter(by_method.values())) if "@" in name]
    head = ["method", *metrics, "s/question"]
    body = [
        [name, *(_interval(each[metric]) for metric in metrics), f"{each['seconds_per_question']:.3f}"]
        for name, each in by_method.items()
    ]
    widths = [max(len(row[column]) for row in [head, *body]) for column in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in [head, *body]
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    lines.append(
        f"{result['suite']}: {result['questions']} questions; index ready after {result['build_seconds']:.1f} s; "
        f"95 % bootstrap intervals"
    )
    return "\n".join(lines)


def check(made: "Check") -> str:
    """Return one line of the doctor's."""
    return f"{made.state:8} {made.name}: {_one_line(made.detail)}"


def methods(about: Mapping[str, str]) -> str:
    """Return the names of methods, each with what it is about."""
    width = max(len(name) for name in about)
    return "\n".join(f"{name:{width}}  {each}" for name, each in about.items())


def _failure(lost: Failure) -> str:
    detail = f" ({lost.detail})" if lost.detail else ""
    return f"{lost.stage}: {lost.item_id}: {lost.reason}{detail}"


def _interval(values: Mapping[str, float]) -> str:
    return f"{values['mean']:.3f} [{values['low']:.3f}, {values['high']:.3f}]"


def _count(number: int, plural: str) -> str:
    """Return `1 entity`, `2 entities`."""
    if number != 1:
        return f"{number:,} {plural}"
    return f"1 {plural[:-3]}y" if plural.endswith("ies") else f"1 {plural[:-1]}"


def _where(source: str, found: Citation | Passage) -> str:
    """Return a document, the page and headings where it has them, and the characters."""
    return ", ".join(filter(None, (source, found.place, f"characters {found.start}-{found.end}")))


def _one_line(text: str) -> str:
    return " ".join(text.split())
