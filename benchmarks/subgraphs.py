"""Answer recall of retrieved subgraphs, compared with the nearest triples at equal tokens.

    python benchmarks/subgraphs.py SUITE --index INDEX [--exact [--vectors FILE]] [--topic linked] [--set KEY=VALUE ...]

SUITE is a question set over a graph whose questions name their topics, INDEX its index. The table shows nodes and
tokens of the 2-hop neighbourhoods of these topics, and of the subgraphs. The triples are the nearest of the whole graph
and of the neighbourhood by the cosine of their embedded sentences. With --exact all of the graph's triples are embedded
(minutes; FILE stores them for the next time), and those of each question have as many tokens as its subgraph may have.
With `--topic linked` all start from the entities linked in the question. Settings were chosen on the half of the
questions whose ids' SHA-256 begins with an even byte, so the results are shown for both halves.
"""

import argparse
import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np
import numpy.typing as npt
from conspectus.pipelines.evaluation.metrics import name_key
from conspectus.pipelines.evaluation.suites import read_questions
from conspectus.query.context import Context
from conspectus.query.methods.gretriever.retrieval import retrieve_subgraph
from conspectus.query.methods.gretriever.textualise import edge_text, node_text
from conspectus.query.methods.gretriever.triples import nearest_triples, triple_line
from conspectus.query.question.topics import link_topics, rows_of
from conspectus.query.types.subgraph import RetrievedSubgraph
from conspectus.query.walk.graph import around, open_graph, sentence
from conspectus.storage.index import StoredIndex
from conspectus.storage.settings import load_settings, parse_override
from conspectus.storage.text.tokens import count_each, count_tokens


def holds(found: RetrievedSubgraph, answers: tuple[str, ...]) -> bool:
    """Return whether an answer is a node of a subgraph."""
    return bool({name_key(node) for node in found.text.nodes} & set(map(name_key, answers)))


def shares(hit: Sequence[bool], chosen_on: npt.NDArray[np.bool_]) -> str:
    """Return the share of hits, over all questions and over either half."""
    found = np.array(hit)
    return (
        f"{found.mean():.3f} (settings chosen here: {found[chosen_on].mean():.3f}, not: {found[~chosen_on].mean():.3f})"
    )


def main() -> None:
    """Ask all questions and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("suite", type=Path)
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--vectors", type=Path, help="where the vectors of all triples are kept (.npy)")
    parser.add_argument("--topic", choices=("given", "linked"), default="given")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    chosen = parser.parse_args()
    overrides: dict[str, dict[str, object]] = {}
    for entry in chosen.set:
        section, key, value = parse_override(entry)
        overrides.setdefault(section, {})[key] = value
    context = Context(StoredIndex.open(chosen.index), load_settings(overrides=overrides))
    graph, questions = open_graph(context), [question for question in read_questions(chosen.suite) if question.answers]
    rows = range(len(graph.sources))
    names = np.array(count_each([node_text(graph, number) for number in range(graph.n_entities)]))
    said = np.array(count_each([edge_text(graph, row) for row in rows]))
    chosen_on = np.array([hashlib.sha256(question.id.encode()).digest()[0] % 2 == 0 for question in questions])
    given = chosen.topic == "given"
    retrieve_subgraph(context, questions[0].question)  # exclude loading on first use from the time
    subgraphs, seconds, busy, before, topics = [], [], [], [], []
    for element in questions:
        began, worked = time.perf_counter(), time.process_time()
        found = retrieve_subgraph(context, element.question, element.entities if given and element.entities else None)
        seconds.append(time.perf_counter() - began)
        busy.append(time.process_time() - worked)
        subgraphs.append(found.subgraph)
        topics.append(rows_of(context, element.entities)[0] if given else link_topics(context, element.question))
        relations, distance = around(graph, topics[-1], 2)
        # Rough size of a table row besides its texts: four tokens for an edge's ends and commas, two for a node's
        # number.

        size = int((said[relations] + 4).sum() + (names[distance >= 0] + 2).sum())
        before.append((int((distance >= 0).sum()), len(relations), size))
    tokens = [count_tokens(subgraph.text.to_text()) for subgraph in subgraphs]
    hit = [holds(part, question.answers) for part, question in zip(subgraphs, questions, strict=True)]
    all_before = np.array(before).sum(axis=0)
    after = (
        sum(len(subgraph.nodes) for subgraph in subgraphs),
        sum(len(subgraph.relations) for subgraph in subgraphs),
        sum(tokens),
    )
    print(f"{len(questions)} questions          2-hop neighbourhoods   subgraphs   fewer")
    for kind, one, other in zip(("nodes", "edges", "tokens"), all_before.tolist(), after, strict=True):
        print(
            f"{kind:8} a question {one / len(questions):22,.1f} {other / len(questions):11,.1f} {1 - other / one:7.1%}"
        )
    print(f"gretriever: {shares(hit, chosen_on)} have an answer in it")
    print(f"median {median(seconds) * 1000:.0f} ms a question, {median(busy) * 1000:.0f} ms of the processor")
    if not chosen.exact:
        near = [holds(nearest_triples(context, question.question), question.answers) for question in questions]
        print(f"triples:    {shares(near, chosen_on)} by `triples`, which embeds its best candidates")
        return
    lengths = np.array(count_each([triple_line(graph, row) for row in rows]))
    if chosen.vectors and chosen.vectors.exists():
        vectors = np.load(chosen.vectors)
    else:
        vectors = context.embedder.embed([sentence(graph, row) for row in rows])
        if chosen.vectors:
            np.save(chosen.vectors, vectors)
    budget = context.settings.gretriever.context_tokens
    for what in ("whole graph", "2-hop neighbourhood"):
        near = []
        for item, starts in zip(questions, topics, strict=True):
            pool = np.array(rows) if what == "whole graph" else around(graph, starts, 2)[0]
            order = pool[np.argsort(-(vectors[pool] @ context.embedder.embed_query(item.question)), kind="stable")]
            kept = order[np.cumsum(lengths[order]) <= budget]
            reached = {name_key(graph.names[end]) for row in kept for end in (graph.sources[row], graph.targets[row])}
            near.append(bool(reached & set(map(name_key, item.answers))))
        print(f"triples:    {shares(near, chosen_on)} of the {what}, {budget} tokens, all embedded")


if __name__ == "__main__":
    main()
