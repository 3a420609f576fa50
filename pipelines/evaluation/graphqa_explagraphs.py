"""ExplaGraphs (Saha et al. 2021): two arguments, the graph that explains one by the other, support or counter.

Lines of four fields with tabs between: argument 1, argument 2, the stance, `(head; relation; tail)(...)`. As the labels
of its test set are not published, all files of a folder are pooled and divided 6 : 2 : 2.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from pipelines.evaluation.graphqa import GraphQa, GraphQuestion, divided
from query.subgraph.textual_graph import TextualEdge, TextualGraph
from storage.errors import InputError

STANCES = ("support", "counter")
_ASKED = 'Does argument 2 support or counter argument 1? Answer with one word, "support" or "counter".'
_TRIPLE = re.compile(r"\(([^();]+);([^();]+);([^();]+)\)\s*")


def find_explagraphs(place: Path) -> list[Path]:
    """Return the files of a folder, or the file, that are of this form by their first line that is not blank."""
    files = sorted(place.glob("*.tsv")) if place.is_dir() else [place]
    return [each for each in files if each.suffix == ".tsv" and each.is_file() and _is_stance_file(each)]


def read_explagraphs(files: Sequence[Path]) -> GraphQa:
    """Return the questions of the files, divided; InputError names the line that is wrong."""
    found = [each for file in files for each in _questions(file)]
    learn, validate, test = divided(found, lambda each: (each.graph.nodes, each.graph.edges))
    n = len(found)
    return GraphQa(
        "explagraphs",
        "accuracy",
        tuple(learn),
        tuple(validate),
        tuple(test),
        sum(len(each.graph.nodes) for each in found) / n,
        sum(len(each.graph.edges) for each in found) / n,
    )


def _is_stance_file(file: Path) -> bool:
    with file.open(encoding="utf-8-sig", errors="replace") as lines:
        first = next((line for line in lines if line.strip()), "")
    fields = first.rstrip("\r\n").split("\t")
    return len(fields) == 4 and (_is_header(fields) or _TRIPLE.match(fields[3].strip()) is not None)


def _is_header(fields: Sequence[str]) -> bool:
    return fields[2].strip().lower() in {"label", "stance"}


def _questions(file: Path) -> Iterator[GraphQuestion]:
    try:
        lines = file.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    for number, line in enumerate(lines, start=1):
        fields = [each.strip() for each in line.split("\t")]
        if not line.strip() or (len(fields) == 4 and _is_header(fields)):
            continue
        if len(fields) != 4:
            raise InputError(f"{file}:{number}: {len(fields)} fields, not argument 1, argument 2, stance and graph")
        first, second, stance, told = fields
        if stance not in STANCES:
            raise InputError(f"{file}:{number}: the stance is {stance!r}, not `support` or `counter`")
        question = f"Argument 1: {first}\nArgument 2: {second}\n{_ASKED}"
        yield GraphQuestion(f"{file.stem}-{number}", _graph(f"{file}:{number}", told), question, (stance,))


def _graph(where: str, told: str) -> TextualGraph:
    triples = [tuple(part.strip() for part in each) for each in _TRIPLE.findall(told)]
    if not triples or _TRIPLE.sub("", told).strip():
        raise InputError(f"{where}: the graph is no row of triples (head; relation; tail): {told[:80]!r}")
    number: dict[str, int] = {}
    for head, _, tail in triples:
        number.setdefault(head, len(number))
        number.setdefault(tail, len(number))
    edges = tuple(TextualEdge(number[head], relation, number[tail]) for head, relation, tail in triples)
    return TextualGraph(tuple(number), edges)
