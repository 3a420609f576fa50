"""Walks over the graph as text for people and as JSON for programs."""

from typing import Any

from conspectus.pipelines.readers.filenames import visible
from conspectus.query.types.trace import Chain, Considered, Decision, Hop, WalkTrace
from conspectus.query.walk.graph import KnowledgeGraph, spoken


def text(walk: WalkTrace, graph: KnowledgeGraph) -> str:
    """Return a walk decision by decision: what was considered, kept and pruned, and why; then its chains."""
    blocks = ["\n".join(_decision(each)) for each in walk.decisions]
    chains = [visible(line) for number, each in enumerate(walk.chains, start=1) for line in _chain(number, each, graph)]
    return "\n\n".join([*blocks, "\n".join(chains)] if chains else blocks)


def as_json(walk: WalkTrace, graph: KnowledgeGraph) -> dict[str, Any]:
    """Return a walk with the ids and names of what it went over."""
    return {
        "decisions": [
            {
                "stage": each.stage,
                "depth": each.depth,
                "at": each.at,
                "considered": [
                    {"label": one.label, "kept": one.kept, "why": one.why, "score": one.score}
                    for one in each.considered
                ],
                "outcome": each.outcome,
                "seconds": each.seconds,
                "calls": each.calls,
            }
            for each in walk.decisions
        ],
        "chains": [
            {
                "communities": [[_entity(row, graph) for row in each] for each in chain.communities],
                "triples": [_triple(each, graph) for each in chain.hops],
                "ended": chain.ended,
            }
            for chain in walk.chains
        ],
    }


def _decision(each: Decision) -> list[str]:
    spent = f"{each.seconds * 1000:.0f} ms" + (
        f", {each.calls} call{'' if each.calls == 1 else 's'}" * bool(each.calls)
    )
    head = visible(f"round {each.depth}, {each.stage} at {each.at} ({spent})")
    lines = [visible(f"  {'+' if one.kept else '-'} {_score(one)}{one.label}: {one.why}") for one in each.considered]
    return [head, *lines, visible(f"  {each.outcome}")] if each.outcome else [head, *lines]


def _score(one: Considered) -> str:
    return "" if one.score is None else f"{one.score:.3f} "


def _chain(number: int, chain: Chain, graph: KnowledgeGraph) -> list[str]:
    steps = " -> ".join(f"[{', '.join(spoken(graph.names[row]) for row in each)}]" for each in chain.communities)
    ended = f" (ended: {chain.ended})" if chain.ended else ""
    return [f"chain {number}: {steps}{ended}", *(f"    {_said(each, graph)}" for each in chain.hops)]


def _said(hop: Hop, graph: KnowledgeGraph) -> str:
    source, target = (hop.start, hop.end) if hop.outgoing else (hop.end, hop.start)
    said = graph.predicates[graph.stated[hop.relation]]
    return f"{spoken(graph.names[source])} | {said} | {spoken(graph.names[target])}"


def _entity(row: int, graph: KnowledgeGraph) -> dict[str, str]:
    return {"id": graph.entity_ids[row], "name": graph.names[row]}


def _triple(hop: Hop, graph: KnowledgeGraph) -> dict[str, Any]:
    source, target = (hop.start, hop.end) if hop.outgoing else (hop.end, hop.start)
    return {
        "relation_id": graph.relation_ids[hop.relation],
        "source": graph.names[source],
        "predicate": graph.predicates[graph.stated[hop.relation]],
        "target": graph.names[target],
        "outgoing": hop.outgoing,
    }
