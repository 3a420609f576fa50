"""What is fuzzed of what users bring: documents, graphs, extractions, question sets, conversations."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from pipelines.evaluation.suites import read_questions
from pipelines.interchange.kg import read_graph
from pipelines.steps.documents import read_documents
from pipelines.steps.openie_file import read_open
from query.session import read_session
from storage.errors import ConspectusError
from storage.settings import InputSettings, KgSettings
from tests.end_to_end.test_readers import MAKERS
from tests.fuzz.target import Target

TEXT = (
    "Ada Lovelace met Charles Babbage in London.\n\n# Engines\n\nShe wrote the first program, in 1843. 北京大学 | a, b"
)
TRIPLES = {
    ".tsv": "Ada\tknows\tCharles\nAda\tborn in\tLondon\n",
    ".csv": 'head,relation,tail\n"Ada, Countess",knows,Charles\n',
    ".nt": '<http://x/a> <http://x/knows> <http://x/b> .\n_:c <http://x/label> "Caf\\u00e9"@fr .\n',
    ".jsonl": '{"head": "Ada", "relation": "knows", "tail": "Charles"}\n',
    ".json": '[\n{"id": "Q1", "labels": {"en": {"value": "Ada"}}, "claims": {"P1": [{"mainsnak": {"datavalue": '
    '{"type": "wikibase-entityid", "value": {"id": "Q2"}}}}]}},\n{"id": "Q2", "labels": {}, "claims": {}}\n]\n',
}


def targets(folder: Path) -> Iterator[Target]:
    """Yield what is fuzzed; `folder` is for its files."""
    for suffix, make in MAKERS.items():
        name = f"x.txt{suffix}" if suffix == ".gz" else f"x{suffix}"
        make(folder / name, TEXT.encode("ascii", "replace").decode() if suffix in {".pdf", ".tar", ".tgz"} else TEXT)
        yield Target(f"read {suffix}", ((folder / name).read_bytes(),), _document(folder / name))
    for suffix, text in TRIPLES.items():
        yield Target(f"graph {suffix}", (text.encode(),), _graph(folder / f"g{suffix}"))
    yield Target("graph labels", (b"Q1\tAda Lovelace\nQ2\tCharles\n",), _labels(folder))
    openie = json.dumps({"id": "a", "entities": ["Ada"], "triples": [["Ada", "met", "Charles"]]}) + "\n"
    yield Target("openie", (openie.encode(),), _file(folder / "openie.jsonl", lambda path: read_open(path, {"a"})))
    asked = json.dumps({"id": "1", "question": "Who?", "answers": ["Ada"], "supporting": ["a"]}) + "\n"
    yield Target("questions", (asked.encode(),), _file(folder / "questions.jsonl", read_questions))
    turn = json.dumps({"question": "Who?", "standalone": "Who?", "answer": "Ada.", "method": "ppr"}) + "\n"
    yield Target("session", (turn.encode(),), _file(folder / "session.jsonl", read_session))


def _document(path: Path) -> Callable[[bytes], None]:
    def run(content: bytes) -> None:
        path.write_bytes(content)
        try:
            found, _ = read_documents([path], InputSettings(max_archive_bytes=50_000_000))
        except ConspectusError:
            return
        for each in found:
            assert each.text.encode("utf-8")
            starts = [place.start for place in each.places]
            assert starts == sorted(starts)
            assert all(0 <= start < each.n_chars for start in starts)

    return run


def _graph(path: Path) -> Callable[[bytes], None]:
    return _file(path, lambda path: read_graph(KgSettings(files=(str(path),))))


def _labels(folder: Path) -> Callable[[bytes], None]:
    graph = folder / "labelled.tsv"
    graph.write_text("Q1\tP1\tQ2\n", "utf-8")
    labels = folder / "labels.tsv"
    return _file(labels, lambda path: read_graph(KgSettings(files=(str(graph),), labels=(str(path),))))


def _file(path: Path, read: Callable[[Path], object]) -> Callable[[bytes], None]:
    def run(content: bytes) -> None:
        path.write_bytes(content)
        try:
            read(path)
        except ConspectusError:
            return

    return run
