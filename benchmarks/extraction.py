"""Recall of extraction: facts of essays, and annotated triples, found in the extracted graphs.

    python -m benchmarks.extraction --facts MINE --triples FILE [FILE ...] [--all]

MINE is a folder with corpus.jsonl and questions.jsonl whose accepted answers are facts of the supporting document;
a FILE has lines {"text", "triples"}. Without --all the first 10 essays and 100 texts of each file are used: about
a minute on an idle core. The rules are in benchmarks/text_graphs.py. The table also shows the rule's result
for the sentences themselves (the upper bound) and for the graph of another essay (the lower bound).

`report` takes any extractor; as a program, the file measures the offline one.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from conspectus import load_settings
from conspectus.pipelines.evaluation.metrics import Embed, bootstrap
from conspectus.pipelines.evaluation.suites import read_questions
from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.storage.settings import Settings
from numpy.typing import NDArray

from benchmarks.text_graphs import (
    Extract,
    TextGraph,
    TripleCounts,
    alike_name,
    check_facts,
    count_triples,
    inverse_frequencies,
    offline_extractor,
    read_texts,
    read_triples,
    same_name,
    sentence_graph,
    spelt_out,
)


def embedding(settings: Settings) -> Embed:
    """Return a function that embeds the first window of each text, and each text once."""
    embedder = open_embedder(settings.embedding, settings.embedding_server)
    known: dict[str, NDArray[np.float32]] = {}

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            known.update(zip(new, embedder.embed([embedder.windows(item)[0] for item in new]), strict=True))
        return np.stack([known[text] for text in texts])

    return embed


def facts_table(folder: Path, extract: Extract, embed: Embed, most: int | None) -> Iterator[str]:
    """Yield the lines of the table of facts."""
    texts = read_texts(folder / "corpus.jsonl")[:most]
    facts: dict[str, list[str]] = {text.id: [] for text in texts}
    for question in read_questions(folder):
        for id_ in question.supporting:
            if id_ in facts:
                facts[id_] += question.answers
    weigh = inverse_frequencies([text.text for text in texts])
    began = time.perf_counter()
    graphs = extract(texts)
    seconds = time.perf_counter() - began
    others = [*graphs[1:], graphs[0]]
    sentences = [sentence_graph(text.text) for text in texts]
    rows: dict[str, tuple[Sequence[TextGraph], bool]] = {
        "names and predicates": (graphs, False),
        "with descriptions": (graphs, True),
        "another essay's, with descriptions": (others, True),
        "sentences of the text": (sentences, False),
    }
    n_facts = sum(map(len, facts.values()))
    sizes = f"{sum(len(graph.nodes) for graph in graphs)} nodes, {sum(len(graph.edges) for graph in graphs)} edges"
    yield f"{folder.name}: {n_facts} facts of {len(texts)} texts; {sizes}, extracted in {seconds:.1f} s"
    yield f"{'graph':36}{'facts held':>12}  95 % interval over texts"
    for name, (shown, descriptions) in rows.items():
        checks = [
            check_facts(graph, facts[text.id], embed, weigh, descriptions)
            for text, graph in zip(texts, shown, strict=True)
        ]
        held = bootstrap([sum(one.held for one in check) / len(check) for check in checks if check])
        yield f"{name:36}{held.mean:12.3f}  [{held.low:.3f}, {held.high:.3f}]"


def triples_table(files: Sequence[Path], extract: Extract, embed: Embed, most: int | None) -> Iterator[str]:
    """Yield the lines of the table of triples."""
    yield f"{'texts':12}{'names are':>10}{'':10}{'precision':>10}{'recall':>8}{'F1':>8}{'extracted':>11}{'true':>7}"
    for file in files:
        rows = read_triples(file)[:most]
        graphs = extract([text for text, _ in rows])
        edges = [edge for (_, true), graph in zip(rows, graphs, strict=True) for edge in (*graph.edges, *true)]
        embed([spelt_out(edge.predicate) for edge in edges])  # embedding in one batch is faster
        for rule, same in (("equal", same_name), ("alike", alike_name)):
            total = TripleCounts()
            for (_, true), graph in zip(rows, graphs, strict=True):
                total += count_triples(graph, true, embed, same)
            for what, counts in (("names", total.names), ("pairs", total.pairs), ("triples", total.triples)):
                yield (
                    f"{file.stem:12}{rule:>10}  {what:8}{counts.precision:10.3f}{counts.recall:8.3f}{counts.f1:8.3f}"
                    f"{counts.extracted:11}{counts.true:7}"
                )


def report(
    extract: Extract, embed: Embed, facts: Path | None, triples: Sequence[Path], everything: bool
) -> Iterator[str]:
    """Yield the lines of both tables for an extractor."""
    if facts:
        yield from facts_table(facts, extract, embed, None if everything else 10)
    if triples:
        yield ""
        yield from triples_table(triples, extract, embed, None if everything else 100)


def main() -> None:
    """Measure the offline extractor of the settings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=Path)
    parser.add_argument("--triples", type=Path, nargs="+", default=[])
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    settings = load_settings()
    for line in report(offline_extractor(settings), embedding(settings), options.facts, options.triples, options.all):
        print(line, flush=True)


if __name__ == "__main__":
    main()
