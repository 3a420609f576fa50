"""The walk or the subgraph behind an answer: drawn, as text and as plain values."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from conspectus.query.types import Answer
from conspectus.query.types.trace import Chain, Considered, Decision, Hop, WalkTrace
from conspectus.query.walk.graph import WalkGraph, open_walk_graph, spoken
from conspectus.render.drawings import subgraph_svg, walk_svg
from conspectus.render.terminal import count, visible
from conspectus.storage.errors import UsageError

if TYPE_CHECKING:
    from conspectus.query.context import Context


def draw(answer: Answer, context: "Context", width: int | None = None) -> str:
    """Return a drawing of the walk or the subgraph behind an answer, as SVG.

    Args:
        answer: The answer.
        context: The context that the answer was made with.
        width: The pixels that a page has for it.

    Raises:
        UsageError: The method made neither a walk nor a subgraph.
    """
    told = answer.question, answer.method, answer.names, width
    if answer.evidence.subgraph is not None:
        return subgraph_svg(answer.evidence.subgraph, *told)
    return walk_svg(_walk_of(answer), open_walk_graph(context), *told)


def _walk_of(answer: Answer) -> WalkTrace:
    if answer.evidence.walk is None:
        raise UsageError(f"method {answer.method!r} does not walk over the graph; tog2 and fasttog do")
    return answer.evidence.walk


def text_of(answer: Answer, context: "Context") -> str:
    """Return the walk behind an answer decision by decision (considered, kept, pruned, and why), then its chains.

    UsageError if there is none.
    """
    walk, graph = _walk_of(answer), open_walk_graph(context)
    blocks = ["\n".join(_decision(decision)) for decision in walk.decisions]
    chains = [
        visible(line) for number, chain in enumerate(walk.chains, start=1) for line in _chain(number, chain, graph)
    ]
    return "\n\n".join([*blocks, "\n".join(chains)] if chains else blocks)


def json_of(answer: Answer, context: "Context") -> dict[str, Any]:
    """Return the walk behind an answer as plain values, with ids and names; UsageError if there is none."""
    walk, graph = _walk_of(answer), open_walk_graph(context)
    return {
        "decisions": [asdict(decision) for decision in walk.decisions],
        "chains": [
            {
                "communities": [
                    [{"id": graph.entity_ids[row], "name": graph.names[row]} for row in community]
                    for community in chain.communities
                ],
                "triples": [_triple_json(hop, graph) for hop in chain.hops],
                "ended": chain.ended,
            }
            for chain in walk.chains
        ],
    }


def _decision(decision: Decision) -> list[str]:
    calls = f", {count(decision.calls, 'calls')}" if decision.calls else ""
    head = f"round {decision.depth}, {decision.stage} at {decision.at} ({decision.seconds * 1000:.0f} ms{calls})"
    lines = [visible(head), *(visible(_option(option)) for option in decision.considered)]
    return [*lines, visible(f"  {decision.outcome}")] if decision.outcome else lines


def _option(option: Considered) -> str:
    score = "" if option.score is None else f"{option.score:.3f} "
    return f"  {'+' if option.kept else '-'} {score}{option.label}: {option.why}"


def _chain(number: int, chain: Chain, graph: WalkGraph) -> list[str]:
    steps = " -> ".join(
        f"[{', '.join(spoken(graph.names[row]) for row in community)}]" for community in chain.communities
    )
    ended = f" (ended: {chain.ended})" if chain.ended else ""
    triples = (_triple_json(hop, graph) for hop in chain.hops)
    hops = (f"    {spoken(it['source'])} | {it['predicate']} | {spoken(it['target'])}" for it in triples)
    return [f"chain {number}: {steps}{ended}", *hops]


def _triple_json(hop: Hop, graph: WalkGraph) -> dict[str, Any]:
    source, target = (hop.start, hop.end) if hop.outgoing else (hop.end, hop.start)
    return {
        "relation_id": graph.relation_ids[hop.relation],
        "source": graph.names[source],
        "predicate": graph.predicates[graph.stated[hop.relation]],
        "target": graph.names[target],
        "outgoing": hop.outgoing,
    }
