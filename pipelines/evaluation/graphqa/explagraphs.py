"""Read ExplaGraphs (Saha et al. 2021): two arguments, an explanation graph, and the stance support or counter.

A line has four fields separated by tabs: argument 1, argument 2, the stance, `(head; relation; tail)(...)`. The test
labels are not published, so all files of a folder are pooled and divided 6 : 2 : 2.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from conspectus.pipelines.evaluation.graphqa.questions import (
    Cut,
    CutQuestion,
    GraphQa,
    GraphQuestion,
    Row,
    collected,
    failure,
    graph_of,
)
from conspectus.query.types.textual_graph import TextualGraph
from conspectus.storage.errors import InputError

STANCES = ("support", "counter")
_ASKED = 'Does argument 2 support or counter argument 1? Answer with one word, "support" or "counter".'
_TRIPLE = re.compile(r"\(([^();]+);([^();]+);([^();]+)\)\s*")


def read_explagraphs(place: Path, _cut: Cut) -> GraphQa | None:
    """Return the questions of the file, or of the files of a folder, in this form, divided; None if there are none.

    The first line that is not blank shows the form. Errors are those of `collected`.
    """
    files = sorted(place.glob("*.tsv")) if place.is_dir() else [place]
    files = [file for file in files if file.suffix == ".tsv" and file.is_file() and _is_stance_file(file)]
    rows = (row for file in files for row in _rows(file))
    return collected("explagraphs", "accuracy", place, [rows], STANCES) if files else None


def _is_stance_file(file: Path) -> bool:
    with file.open(encoding="utf-8-sig", errors="replace") as lines:
        first = next((line for line in lines if line.strip()), "")
    fields = first.rstrip("\r\n").split("\t")
    return len(fields) == 4 and (_is_header(fields) or _TRIPLE.match(fields[3].strip()) is not None)


def _is_header(fields: Sequence[str]) -> bool:
    return fields[2].strip().lower() in {"label", "stance"}


def _rows(file: Path) -> Iterator[Row]:
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    # Not `splitlines`, which also ends a line at characters that occur in sentences, such as U+2028.
    for number, line in enumerate(text.split("\n"), start=1):
        fields = [part.strip() for part in line.split("\t")]
        if not line.strip() or (len(fields) == 4 and _is_header(fields)):
            continue
        try:
            yield _question(f"{file.stem}-{number}", fields)
        except ValueError as error:
            yield failure(f"{file}:{number}", str(error))


def _question(id_: str, fields: Sequence[str]) -> CutQuestion:
    """Return the question of a line; ValueError if the line has another form."""
    if len(fields) != 4:
        raise ValueError(f"{len(fields)} fields, not argument 1, argument 2, stance and graph")
    first, second, stance, graph_text = fields
    if stance not in STANCES:
        raise ValueError(f"the stance is {stance[:80]!r}, not `support` or `counter`")
    graph = _graph(graph_text)
    question = f"Argument 1: {first}\nArgument 2: {second}\n{_ASKED}"
    return CutQuestion(GraphQuestion(id_, graph, question, (stance,)), graph, (graph.nodes, graph.edges))


def _graph(graph_text: str) -> TextualGraph:
    triples = [(head.strip(), relation.strip(), tail.strip()) for head, relation, tail in _TRIPLE.findall(graph_text)]
    if not triples or not all(part for triple in triples for part in triple) or _TRIPLE.sub("", graph_text).strip():
        raise ValueError(f"the graph is no row of triples (head; relation; tail): {graph_text[:80]!r}")
    return graph_of(triples)
