"""Accuracy and time of questions to a graph behind a SPARQL endpoint, without a model.

    python benchmarks/endpoint.py FOLDER [--url URL] [--set SECTION.KEY=VALUE ...]

FOLDER has `kg.tsv` (subject, predicate, object) and `questions.jsonl` (question, kind, answers; no answers if the graph
cannot answer the question). Without --url, the graph is served by the package `oxigraph`, with labels in English. An
answer is right if its first name is among the answers; a question without answers must be declined. The output shows
right, wrong and declined answers by kind, and the seconds per question.
"""

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

import numpy as np
from conspectus import open_endpoint
from conspectus.storage.rdf_terms import LABEL, literal
from conspectus.storage.settings import load_settings, parse_override

from tests.query.endpoint_serving import oxigraph_server


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--url")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    given = parser.parse_args()
    overrides: dict[str, dict[str, object]] = {}
    for section, key, value in map(parse_override, given.set):
        overrides.setdefault(section, {})[key] = value
    with ExitStack() as stack:
        url = given.url
        if not url:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            url = stack.enter_context(oxigraph_server(folder, "".join(triples(given.folder / "kg.tsv"))))
        ask(url, given.folder / "questions.jsonl", overrides)


def ask(url: str, questions: Path, overrides: dict[str, dict[str, object]]) -> None:
    """Ask an endpoint all questions and print the results."""
    graph = open_endpoint(url, load_settings(overrides=overrides))
    counts: Counter[tuple[str, str]] = Counter()
    seconds = []
    for line in questions.read_text("utf-8").splitlines():
        asked = json.loads(line)
        began = time.perf_counter()
        answer = graph.ask(asked["question"])
        seconds.append(time.perf_counter() - began)
        right = {str(name).casefold() for name in asked["answers"]}
        named = answer.names[0].casefold() if answer.known and answer.names else ""
        outcome = (
            "right" if (named in right if right else not answer.known) else "wrong" if answer.known else "declined"
        )
        counts[asked["kind"], outcome] += 1
        if outcome == "wrong":
            print(f"wrong: {asked['question']} {answer.text}")
    for kind in dict.fromkeys(kind for kind, _ in counts):
        print(f"{kind}: " + ", ".join(f"{counts[kind, one]} {one}" for one in ("right", "wrong", "declined")))
    print(f"{np.median(seconds):.1f} s a question (median), {max(seconds):.1f} s at most")


def triples(file: Path) -> Iterator[str]:
    """Yield a graph of names as N-Triples, each name with its label."""
    named: set[str] = set()
    for line in file.read_text("utf-8").splitlines():
        source, predicate, target = line.split("\t")[:3]
        for name in (source, target):
            if name not in named:
                named.add(name)
                yield f"{_iri('thing', name)} <{LABEL}> {literal(name)}@en .\n"
        yield f"{_iri('thing', source)} {_iri('predicate', predicate)} {_iri('thing', target)} .\n"


def _iri(kind: str, name: str) -> str:
    return f"<http://graph.example/{kind}/{quote(name, safe='')}>"


if __name__ == "__main__":
    main()
