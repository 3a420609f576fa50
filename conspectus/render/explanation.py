"""Explanations as text for people and as JSON for programs."""

from dataclasses import asdict
from typing import Any

from conspectus.pipelines.readers.filenames import visible
from conspectus.query.explain.subgraph import subgraph
from conspectus.query.explain.types import Explained, Explanation, Node, Path

_FULL = 0.995
"""Shares from here on are all there is, to what is shown."""


def text(found: Explanation) -> str:
    """Return an explanation, passage by passage."""
    if not found.passages:
        return "\n".join(["nothing found", *(f"  {step.name}: {visible(step.detail)}" for step in found.trace)])
    blocks = ["\n".join(_passage(each)) for each in found.passages]
    return "\n\n".join([*blocks, f"score = {found.formula}"])


def as_json(found: Explanation) -> dict[str, Any]:
    """Return an explanation in the form of `conspectus explain --json`."""
    return {
        "question": found.question,
        "method": found.method,
        "formula": found.formula,
        "passages": [{**asdict(each), "graph": asdict(subgraph(each))} for each in found.passages],
        "trace": [asdict(each) for each in found.trace],
    }


def _passage(each: Explained) -> list[str]:
    passage = each.passage
    where = ", ".join(filter(None, (passage.document_id, passage.place, f"characters {passage.start}-{passage.end}")))
    place = f"{each.rank}." if each.rank else "-"
    title = f"{passage.title} ({where})" if passage.title else where
    lines = [visible(f"{place} {title}, chunk {passage.chunk_id}")]
    if each.rank:
        lines.append(f"   score {_number(passage.score)}")
    if each.note:
        lines.append(f"   {each.note}")
    width = max((len(part.name) for part in each.parts), default=0)
    lines += [visible(f"   {part.name:{width}} {_number(part.value):>9}  {part.detail}") for part in each.parts]
    if each.paths:
        lines.append(f"   the walk came by ({_share(each.told)} of its mass here):")
        lines += [visible(line) for path in each.paths for line in _path(path)]
    elif each.mass:
        lines.append("   the walk came by many ways, none of which carried half a percent of its mass here")
    return lines


def _path(path: Path) -> list[str]:
    first, *rest = path.hops
    lines = [f"   {_share(path.share):>6}  {_named(first.node)} ({path.why})"]
    return [*lines, *(f"           {hop.edge} -> {_named(hop.node)}" for hop in rest)]


def _named(node: Node) -> str:
    name = " ".join(node.name.split())
    return name if node.kind == "passage" else f'the name "{name}"'


def _share(share: float) -> str:
    return "all" if share >= _FULL else f"{share:.1%}"


def _number(value: float) -> str:
    return f"{value:.4g}"
