"""Results as text for people and as JSON for programs."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from conspectus.pipelines.readers.filenames import visible
from conspectus.query.types import Answer, Citation, CitedTriple, Evidence, Passage, Usage
from conspectus.storage.manifest import Manifest
from conspectus.storage.records import Failure
from conspectus.storage.tables import TABLES

if TYPE_CHECKING:
    from conspectus.doctor import Check
    from conspectus.pipelines.migration import Migrated
    from conspectus.pipelines.tuning.tune import Tuning

_LONG_QUOTE = 900
"""Characters of a quote up to which it is printed whole."""


def build(done: Mapping[str, Any]) -> str:
    """Return what a build did in a few lines."""
    if done["unchanged"]:
        first = f"{done['index']}: unchanged, version {done['version']} ({done['seconds']:.1f} s)"
    else:
        first = f"{done['index']}: published version {done['version']} in {done['seconds']:.1f} s"
    rows = done["rows"]
    tables = ("documents", "chunks", "entities", "relations", "reports")
    counted = ", ".join(_count(rows[name], name) for name in tables)
    lines = [first, f"  {counted}", *(f"  {each}" for each in done["notes"])]
    lines += [f"  {_spent(each)}" for each in done["usage"]]
    if done["retried"] is not None:
        lines.append(f"  {_retried(done)}")
    if done["failures"]:
        lines.append(
            f"  {_count(done['failures'], 'failures')} ({', '.join(map(lost, done['lost']))}); "
            f"see: conspectus status --failures --index {shlex.quote(done['index'])}"
        )
    return "\n".join(lines)


def lost(each: Mapping[str, Any]) -> str:
    """Return how many items of a stage lost something: `3 of 40 chunks`."""
    return f"{each['lost']:,} of {_count(each['items'], _ITEMS.get(each['stage'], 'items'))}"


_ITEMS = {
    "read": "documents",
    "extract": "chunks",
    "resolve": "names",
    "summarise": "descriptions",
    "report": "reports",
    "kg": "triples",
    "import": "rows",
}
"""What the stages work on."""


def _retried(done: Mapping[str, Any]) -> str:
    """Return what came of --retry-failed."""
    found = done["retried"]
    if found["asked"]:
        told = f"asked again for {_count(found['asked'], 'replies')}: {found['healed']:,} whole now"
        return f"{told}, {found['unanswered']:,} without an answer" if found["unanswered"] else told
    if done["unchanged"]:
        return "nothing to ask again" if not done["failures"] else "tried to read again; nothing else had failed"
    return "no remembered reply had lost anything; what had failed was tried again"


def tuned(found: "Tuning") -> str:
    """Return what prompts were fitted to, what they say, and what it took."""
    lines = [
        f"read {_count(found.chunks, 'chunks')} of {_count(found.documents, 'documents')}",
        *(f"  {_one_line(line)}" for line in found.prompts.domain.splitlines()),
        f"  {_one_line(found.prompts.persona)}",
        f"  entity types: {_one_line(', '.join(found.entity_types))}",
        f"  {_count(found.examples, 'examples')} of extraction, {found.claims_examples} of claims",
    ]
    if found.examples == 0:
        lines.append("  no example was usable: the one that comes along stays in use (extract_examples.txt is empty)")
    if found.thrown_away:
        lines.append(
            f"  {_count(len(found.thrown_away), 'replies')} thrown away, the first: {_short(found.thrown_away[0])}"
        )
    if found.left_out:
        lines.append(f"  {_count(found.left_out, 'records')} left out of examples, whose rules they break")
    if found.unread:
        lines.append(f"  {_count(found.unread, 'failures')} to read the input; conspectus index lists them")
    return "\n".join([*lines, *(f"  {_spent(asdict(each))}" for each in found.spending)])


def _short(text: str) -> str:
    line = _one_line(text)
    return line if len(line) <= 200 else f"{line[:200]} ..."


def _spent(each: Mapping[str, Any]) -> str:
    """Return what one step asked of one model."""
    tokens = each["prompt_tokens"] + each["completion_tokens"]
    cost = "cost unknown (llm.prices)" if each["cost"] is None else f"${each['cost']:.4f}"
    remembered = f", {each['remembered']:,} remembered" if each["remembered"] else ""
    return f"{each['step']}: {_count(each['calls'], 'calls')} to {each['model']}, {tokens:,} tokens, {cost}{remembered}"


def said(text: str) -> str:
    """Return the text of an answer, or a piece of it, as it may be shown on a terminal."""
    return "\n".join(visible(line) for line in text.split("\n"))


def support(found: Answer, trace: bool) -> str:
    """Return what stands below an answer: its citations, what it took, and the steps behind it where wanted."""
    lines = ["", f"In short: {visible(found.span)}"] if found.span else []
    rests_on = [(each.number, _triple(each)) for each in found.triples]
    rests_on += [(each.number, citations([each])) for each in found.citations]
    lines += [line for _, told in sorted(rests_on, key=lambda each: each[0]) for line in told]
    lines += ["", f"method {found.method}, {_took(found.usage)}"]
    if found.dropped_citations:
        were = "was" if found.dropped_citations == 1 else "were"
        lines.append(f"{_count(found.dropped_citations, 'citations')} did not resolve and {were} dropped")
    lost = [each for each in found.checks if not each.supported]
    if lost:
        lines.append(f"{len(lost)} of {_count(len(found.checks), 'cited sentences')} not supported by what is cited:")
        lines += [f"  {_one_line(each.sentence)} ({_one_line(each.why)})" for each in lost]
    if trace:
        lines += ["", "trace", *(f"  {step.name}: {_one_line(step.detail)}" for step in found.trace)]
    return "\n".join(lines)


def _triple(each: CitedTriple) -> list[str]:
    said = " | ".join(filter(None, (each.source, each.predicate, each.target)))  # a model's relations have no predicate
    return ["", f"[{each.number}] {visible(said)}"]


def citations(made: Sequence[Citation]) -> list[str]:
    """Return the lines of citations, an empty one before each."""
    lines = []
    for each in made:
        lines += ["", f"[{each.number}] {visible(each.title)} ({_where(each.uri, each)})"]
        lines.append(f'    "{_shown(_one_line(each.quote))}"')
    return lines


def _shown(quote: str) -> str:
    """Return a quote as it is printed: of a long one, a whole passage say, both ends; --json has all of it."""
    if len(quote) <= _LONG_QUOTE:
        return quote
    head, tail = quote[: _LONG_QUOTE * 2 // 3].rsplit(" ", 1)[0], quote[-_LONG_QUOTE // 3 :].split(" ", 1)[-1]
    return f"{head} [{len(quote) - len(head) - len(tail):,} characters] {tail}"


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
        "span": found.span,
        "names": list(found.names),
        "triples": [asdict(each) for each in found.triples],
        "usage": asdict(found.usage),
        "trace": [asdict(each) for each in found.trace],
        "dropped_citations": found.dropped_citations,
        "checks": [asdict(each) for each in found.checks],
        "unsupported": found.unsupported,
        **({"standalone": found.standalone} if found.standalone else {}),
        **({"narrowed": found.narrowed} if found.narrowed else {}),
    }


def evidence(found: Evidence) -> str:
    """Return passages, best first."""
    if not found.passages:
        return "nothing found"
    lines = []
    for rank, each in enumerate(found.passages, start=1):
        lines.append(f"{rank}. {visible(each.title)} ({_where(each.document_id, each)}, {each.score:.4f})")
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


def migrated(done: "Migrated") -> str:
    """Return what became of an index of an earlier format."""
    if done.how == "nothing":
        return f"version {done.after} has the present format, nothing to do"
    how = "its files taken over" if done.how == "files" else "built from its documents"
    return f"version {done.before} of format {done.before_format} is version {done.after} now, {how}"


def pruned(done: Mapping[str, Any]) -> str:
    """Return what was deleted."""
    lines = [f"{done['index']}: {_count(len(done['versions']), 'old versions')} deleted, {done['bytes'] / 1e6:.1f} MB"]
    lines += [f"  forgotten: {_count(count, 'results')} of kind {kind}" for kind, count in done["forgotten"].items()]
    return "\n".join(lines)


def scores(result: Mapping[str, Any]) -> str:
    """Return a table of methods and metrics, each mean with its 95 % interval."""
    by_method: Mapping[str, Any] = result["methods"]
    metrics = _metrics(by_method)
    costs = {"calls": "calls_per_question", "tokens": "tokens_per_question"}
    shown = {
        head: key
        for head, key in costs.items()
        if head not in metrics and any(each[key] for each in by_method.values())
    }
    head = ["method", *metrics, *(f"{each}/question" for each in shown), "s/question", "median s"]
    body = [
        [
            name,
            *(_interval(metric, each[metric]) if metric in each else "-" for metric in metrics),
            *(f"{each[key]:,.1f}" for key in shown.values()),
            f"{each['seconds_per_question']:.3f}",
            f"{each['median_seconds']:.3f}",
        ]
        for name, each in by_method.items()
    ]
    of = ", ".join(f"{count} measured for {kind}" for kind, count in result["measured"].items())
    lines = [
        *_table(head, body),
        f"{result['suite']}: {result['questions']} questions, {of}; index ready after {result['build_seconds']:.1f} s; "
        f"95 % bootstrap intervals",
    ]
    lines += _by_hops(by_method)
    lost = {name: each["failures"] for name, each in by_method.items() if each["failures"]}
    lines += [f"{name}: a model gave no answer to {_count(number, 'questions')}" for name, number in lost.items()]
    return "\n".join(lines)


def _metrics(by_method: Mapping[str, Any]) -> list[str]:
    """Return the names of all metrics, in the order in which they come."""
    found = (name for each in by_method.values() for name in each if isinstance(each[name], dict) and name != "by_hops")
    return list(dict.fromkeys(found))


def _by_hops(by_method: Mapping[str, Any]) -> list[str]:
    """Return a table of the questions that say how far their answers are."""
    rows = [[name, hops, found] for name, each in by_method.items() for hops, found in each.get("by_hops", {}).items()]
    if not rows:
        return []
    metrics = list(dict.fromkeys(metric for *_, found in rows for metric in found))
    body = [
        [name, hops, *(_interval(metric, found[metric]) if metric in found else "-" for metric in metrics)]
        for name, hops, found in rows
    ]
    return ["", *_table(["method", "hops", *metrics], body)]


def swept(result: Mapping[str, Any]) -> str:
    """Return a table of a setting's values, methods and metrics, each mean with its 95 % interval."""
    by_value: Mapping[str, Any] = result["sweep"]["values"]
    metrics = list(dict.fromkeys(metric for each in by_value.values() for metric in _metrics(each["methods"])))
    key = result["sweep"]["key"]
    body = [
        [
            value,
            name,
            *(_interval(metric, each[metric]) if metric in each else "-" for metric in metrics),
            f"{each['seconds_per_question']:.3f}",
            f"{each['median_seconds']:.3f}",
        ]
        for value, run in by_value.items()
        for name, each in run["methods"].items()
    ]
    told = f"{result['suite']}: {result['questions']} questions for each value of {key}; 95 % bootstrap intervals"
    return "\n".join([*_table([key, "method", *metrics, "s/question", "median s"], body), told])


def judgement(result: Mapping[str, Any]) -> str:
    """Return a table of win rates a criterion, how often the judge ties, and how often it contradicts itself."""
    blocks = []
    for criterion, found in result["criteria"].items():
        rates: Mapping[str, Any] = found["win_rates"]
        names = list(rates)
        body = [
            [name, *(_interval("win", rates[name][other]) if other in rates[name] else "-" for other in names)]
            for name in names
        ]
        told = (
            f"ties {found['ties']:.0%}; of decided verdicts {found['first_shown']:.0%} for the answer shown first; "
            f"contradicts itself in {found['inconsistent']:.0%} of swapped pairs"
        )
        if not found["reliable"]:
            told += ": do not rely on these rates"
        blocks.append(
            "\n".join([f"{criterion}: how often the row wins against the column", *_table(["", *names], body), told])
        )
    blocks.append(
        f"{_count(result['questions'], 'questions')}, {_count(result['repeats'], 'repeats')} in both orders; a tie is "
        f"half a win; 95 % bootstrap intervals over questions"
    )
    if result["failures"]:
        blocks.append(f"{_count(len(result['failures']), 'verdicts or answers')} could not be had; see --json")
    return "\n\n".join(blocks)


def _table(head: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in [head, *body]) for column in range(len(head))]
    rows = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in [head, *body]
    ]
    return [rows[0], "  ".join("-" * width for width in widths), *rows[1:]]


def check(made: "Check") -> str:
    """Return one line of the doctor's."""
    return f"{made.state:8} {made.name}: {_one_line(made.detail)}"


def methods(about: Mapping[str, str]) -> str:
    """Return the names of methods, each with what it is about."""
    width = max(len(name) for name in about)
    return "\n".join(f"{name:{width}}  {each}" for name, each in about.items())


def _failure(lost: Failure) -> str:
    detail = f" ({lost.detail})" if lost.detail else ""
    return visible(f"{lost.stage}: {lost.item_id}: {lost.reason}{detail}")


def _interval(metric: str, values: Mapping[str, float]) -> str:
    digits = 0 if metric in {"units", "context_tokens"} else 3
    return f"{values['mean']:,.{digits}f} [{values['low']:,.{digits}f}, {values['high']:,.{digits}f}]"


def _count(number: int, plural: str) -> str:
    """Return `1 entity`, `2 entities`."""
    if number != 1:
        return f"{number:,} {plural}"
    return f"1 {plural[:-3]}y" if plural.endswith("ies") else f"1 {plural[:-1]}"


def _where(source: str, found: Citation | Passage) -> str:
    """Return a document, the page and headings where it has them, and the characters."""
    return visible(", ".join(filter(None, (source, found.place, f"characters {found.start}-{found.end}"))))


def _one_line(text: str) -> str:
    return visible(" ".join(text.split()))
