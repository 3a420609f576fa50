"""Results of questions, as text for people and as JSON for programs: answers, passages, explanations."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from conspectus.query.types import Answer, Citation, CitedTriple, Evidence, Passage, Usage
from conspectus.render.terminal import count, one_line, visible

if TYPE_CHECKING:
    from conspectus.query.explain.types import Explained, Explanation, Path, PathNode

_LONG_QUOTE = 900
"""Characters up to which a quote is printed whole."""
_NEAREST = 3
"""Passages that are named beside an answer that says nothing is known."""
_WHOLE_SHARE = 0.995
"""Shares from this value on are printed as "all"."""


def support_text(answer: Answer, trace: bool) -> str:
    """Return the text below an answer: citations, cost, failed checks, and with `trace` the steps."""
    from conspectus.query.sayings import saying

    lines = ["", saying("in short", answer.question, visible(answer.span))] if answer.span else []
    lines += source_lines(answer)
    lines += ["", f"method {answer.method}, {_cost(answer.usage)}"]
    lines += map(one_line, answer.notes)
    if trace:
        lines += ["", "trace", *(f"  {step.name}: {one_line(step.detail)}" for step in answer.trace)]
    return "\n".join(lines)


def source_lines(answer: Answer) -> list[str]:
    """Return the lines of what an answer cites, by number, each source after an empty line."""
    sources = {triple.number: triple_lines(triple) for triple in answer.triples}
    sources |= {citation.number: citation_lines([citation]) for citation in answer.citations}
    return [line for number in sorted(sources) for line in sources[number]]


def triple_lines(triple: CitedTriple) -> list[str]:
    """Return the lines of a cited triple, after an empty one. A model's relations have no predicate."""
    parts = " | ".join(filter(None, (triple.source, triple.predicate, triple.target)))
    return ["", f"[{triple.number}] {visible(parts)}"]


def citation_lines(citations: Sequence[Citation]) -> list[str]:
    """Return the lines of citations, each after an empty line."""
    lines = []
    for citation in citations:
        lines += ["", f"[{citation.number}] {visible(citation.title)} ({_location(citation.uri, citation)})"]
        lines.append(f'    "{quote_text(one_line(citation.quote))}"')
    return lines


def quote_text(quote: str) -> str:
    """Return a quote for printing: the beginning and end of a long one. JSON output has all of it."""
    if len(quote) <= _LONG_QUOTE:
        return quote
    head, tail = quote[: _LONG_QUOTE * 2 // 3].rsplit(" ", 1)[0], quote[-_LONG_QUOTE // 3 :].split(" ", 1)[-1]
    return f"{head} [{len(quote) - len(head) - len(tail):,} characters] {tail}"


def answer_json(answer: Answer, walk: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return an answer as plain values, in the form that every front shows.

    Args:
        answer: The answer.
        walk: The walk over the graph behind it, if there was one (`render.walks.json_of`).
    """
    plain = ("question", "method", "text", "span", "known", "standalone", "narrowed")
    counted = ("unsupported", "dropped_citations")
    listed = ("citations", "triples", "checks", "trace")
    return {
        **{name: getattr(answer, name) for name in (*plain, *counted)},
        "notes": list(answer.notes),
        "names": list(answer.names),
        **{name: [asdict(each) for each in getattr(answer, name)] for name in listed},
        "usage": asdict(answer.usage),
        "nearest": [] if answer.known else [asdict(each) for each in answer.evidence.passages[:_NEAREST]],
        "walk": walk,
        "subgraph": asdict(answer.evidence.subgraph) if answer.evidence.subgraph else None,
    }


def evidence_text(evidence: Evidence) -> str:
    """Return passages, best first."""
    if not evidence.passages:
        return "nothing found"
    lines = []
    for rank, (passage, share) in enumerate(zip(evidence.passages, relative_scores(evidence), strict=True), start=1):
        where = _location(passage.document_id, passage)
        lines.append(f"{rank}. {visible(passage.title)} ({where}, {share:.2f} of the best score)")
        text = one_line(passage.text)
        lines.append(f"   {text if len(text) <= 300 else text[:300] + ' ...'}")
    return "\n".join(lines)


def relative_scores(evidence: Evidence) -> list[float]:
    """Return each passage's score relative to the best one, 0 to 1, because scales differ between methods."""
    best = max((passage.score for passage in evidence.passages), default=0.0)
    return [max(passage.score / best, 0.0) if best > 0 else 0.0 for passage in evidence.passages]


def evidence_json(question: str, method: str, evidence: Evidence) -> dict[str, Any]:
    """Return passages in the form of `conspectus retrieve --json`."""
    return {
        "question": question,
        "method": method,
        "passages": [asdict(passage) for passage in evidence.passages],
        "trace": [asdict(step) for step in evidence.trace],
    }


def methods_text(about: Mapping[str, str]) -> str:
    """Return the names of methods with their descriptions."""
    width = max(len(name) for name in about)
    return "\n".join(f"{name:{width}}  {purpose}" for name, purpose in about.items())


def _cost(usage: Usage) -> str:
    parts = [f"answered in {usage.seconds:.2f} s after loading", count(usage.calls, "model calls")]
    if usage.calls:
        parts.append(count(usage.prompt_tokens + usage.completion_tokens, "tokens"))
        parts.append("cost unknown (llm.prices)" if usage.cost is None else f"${usage.cost:.6f}")
    if usage.remembered:
        parts.append(f"{usage.remembered} remembered")
    return ", ".join(parts)


def _location(source: str, found: Citation | Passage) -> str:
    """Return the document, the page and headings if it has them, and the span in characters."""
    return visible(", ".join(filter(None, (source, found.place, f"characters {found.start}-{found.end}"))))


# Explanations


def explanation_text(explanation: "Explanation") -> str:
    """Return an explanation, passage by passage."""
    if not explanation.passages:
        steps = (f"  {step.name}: {visible(step.detail)}" for step in explanation.trace)
        return "\n".join(["nothing found", *steps])
    blocks = ["\n".join(_explained(passage)) for passage in explanation.passages]
    return "\n\n".join([*blocks, f"score = {explanation.formula}"])


def explanation_json(explanation: "Explanation") -> dict[str, Any]:
    """Return an explanation in the form of `conspectus explain --json`."""
    from conspectus.query.explain.types import path_graph

    return {
        "question": explanation.question,
        "method": explanation.method,
        "formula": explanation.formula,
        "passages": [{**asdict(passage), "graph": asdict(path_graph(passage))} for passage in explanation.passages],
        "trace": [asdict(step) for step in explanation.trace],
    }


def _explained(explained: "Explained") -> list[str]:
    passage = explained.passage
    where = ", ".join(filter(None, (passage.document_id, passage.place, f"characters {passage.start}-{passage.end}")))
    rank = f"{explained.rank}." if explained.rank else "-"
    title = f"{passage.title} ({where})" if passage.title else where
    lines = [visible(f"{rank} {title}, chunk {passage.chunk_id}")]
    if explained.rank:
        lines.append(f"   score {passage.score:.4g}")
    if explained.note:
        lines.append(f"   {explained.note}")
    width = max((len(part.name) for part in explained.parts), default=0)
    lines += [visible(f"   {part.name:{width}} {part.value:>9.4g}  {part.detail}") for part in explained.parts]
    if explained.paths:
        lines.append(f"   paths of the walk ({_share(explained.told)} of the score here):")
        lines += [visible(line) for path in explained.paths for line in _path(path)]
    elif explained.mass:
        lines.append("   the walk has many paths to it, each with less than half a percent of the score here")
    return lines


def _path(path: "Path") -> list[str]:
    first, *rest = path.hops
    lines = [f"   {_share(path.share):>6}  {_node(first.node)} ({path.why})"]
    return [*lines, *(f"           {hop.edge} -> {_node(hop.node)}" for hop in rest)]


def _node(node: "PathNode") -> str:
    name = " ".join(node.name.split())
    return name if node.kind == "passage" else f'the name "{name}"'


def _share(share: float) -> str:
    return "all" if share >= _WHOLE_SHARE else f"{share:.1%}"
