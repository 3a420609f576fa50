"""What is fuzzed of what users bring: documents, graphs, extractions, question sets, conversations."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from conspectus.pipelines.evaluation.suites import read_questions
from conspectus.pipelines.exchange.kg.read import read_graph
from conspectus.pipelines.exchange.openie.read import CHUNKS, read_open, read_passages
from conspectus.pipelines.steps.documents import read_documents
from conspectus.query.conversation.session import read_session
from conspectus.storage.errors import ConspectusError
from conspectus.storage.settings import InputSettings, KgSettings

from tests.end_to_end.test_readers import MAKERS
from tests.fuzz.target import Target

_ENDED = re.compile("takes too|its reader")
"""Reasons of failures of files that a reader did not refuse by itself."""

TEXT = (
    "Ada Lovelace met Charles Babbage in London.\n\n# Engines\n\nShe wrote the first program, in 1843. 北京大学 | a, b"
)
TRIPLES = {
    ".tsv": "Ada\tknows\tCharles\nAda\tborn in\tLondon\n",
    ".csv": 'head,relation,tail\n"Ada, Countess",knows,Charles\n',
    ".nt": '<http://x/a> <http://x/knows> <http://x/b> .\n_:c <http://x/label> "Caf\\u00e9"@fr .\n',
    ".jsonl": '{"head": "Ada", "relation": "knows", "tail": "Charles"}\n',
    ".graphml": '<?xml version="1.0" encoding="utf-8"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    '<key id="d0" for="node" attr.name="entity_type" attr.type="string"/><key id="d1" for="edge" attr.name="weight"/>'
    '<key id="d2" for="node" attr.name="source_id"><default>chunk-1</default></key><graph edgedefault="undirected">'
    '<node id="&quot;ADA&quot;"><data key="d0">"PERSON"</data><data key="d2">a&lt;SEP&gt;b</data></node><node id="B"/>'
    '<edge source="&quot;ADA&quot;" target="B"><data key="d1">2.0</data></edge></graph></graphml>',
    ".json": '[\n{"id": "Q1", "labels": {"en": {"value": "Ada"}}, "claims": {"P1": [{"mainsnak": {"datavalue": '
    '{"type": "wikibase-entityid", "value": {"id": "Q2"}}}}]}},\n{"id": "Q2", "labels": {}, "claims": {}}\n]\n',
}

OWN = """<urn:conspectus:entity:0a> <http://www.w3.org/2000/01/rdf-schema#label> "Ada" .
<urn:conspectus:entity:0a> <urn:conspectus:vocabulary#types> "[\\"PERSON\\"]" .
<urn:conspectus:entity:0a> <urn:conspectus:predicate:met> <urn:conspectus:entity:0b> .
<urn:conspectus:relation:1> <http://www.w3.org/1999/02/22-rdf-syntax-ns#subject> <urn:conspectus:entity:0a> .
<urn:conspectus:relation:1> <http://www.w3.org/1999/02/22-rdf-syntax-ns#predicate> <urn:conspectus:predicate:met> .
<urn:conspectus:relation:1> <http://www.w3.org/1999/02/22-rdf-syntax-ns#object> <urn:conspectus:entity:0b> .
<urn:conspectus:relation:1> <urn:conspectus:vocabulary#weight> "2.5" .
"""

STORE = '{"a": {"content": "Ada met B.", "full_doc_id": "d", "file_path": "x.txt"}, "b": {"content": "B."}, "c": []}'


def targets(folder: Path) -> Iterator[Target]:
    """Yield what is fuzzed; `folder` is for its files."""
    for suffix, make in MAKERS.items():
        name = f"x.txt{suffix}" if suffix == ".gz" else f"x{suffix}"
        make(folder / name, TEXT.encode("ascii", "replace").decode() if suffix in {".pdf", ".tar", ".tgz"} else TEXT)
        yield Target(f"read {suffix}", ((folder / name).read_bytes(),), _document(folder / name))
    for suffix, text in TRIPLES.items():
        yield Target(f"graph {suffix}", (text.encode(),), _graph(folder / f"g{suffix}"))
    yield Target("graph of our own .nt", (OWN.encode(),), _graph(folder / "own.nt"))
    yield Target("graph labels", (b"Q1\tAda Lovelace\nQ2\tCharles\n",), _labels(folder))
    openie = json.dumps({"id": "a", "entities": ["Ada"], "triples": [["Ada", "met", "Charles"]]}) + "\n"
    yield Target("openie", (openie.encode(),), _file(folder / "openie.jsonl", lambda path: read_open(path, {"a"})))
    found = {"extracted_entities": ["Ada"], "extracted_triples": [["Ada", "met", "Charles"]]}
    passage = {"idx": 1, "passage": "Ada\nAda met.", **found}
    results = json.dumps({"docs": [passage], "avg_ent_chars": 3.0}).encode()
    yield Target("openie results", (results,), _file(folder / "results.json", read_passages))
    yield Target("openie texts of LightRAG", (STORE.encode(),), _lightrag(folder))
    asked = json.dumps({"id": "1", "question": "Who?", "answers": ["Ada"], "supporting": ["a"]}) + "\n"
    yield Target("questions", (asked.encode(),), _file(folder / "questions.jsonl", read_questions))
    turn = json.dumps({"question": "Who?", "standalone": "Who?", "answer": "Ada.", "method": "ppr"}) + "\n"
    yield Target("session", (turn.encode(),), _file(folder / "session.jsonl", read_session))


def _document(path: Path) -> Callable[[bytes], None]:
    limits = InputSettings(max_archive_bytes=50_000_000, max_seconds=5.0, max_memory=2_000_000_000)

    def run(content: bytes) -> None:
        path.write_bytes(content)
        try:
            found, failures = read_documents([path], limits)
            told = " ".join(each.reason for each in failures)
        except ConspectusError as error:
            found, told = [], str(error)
        assert not _ENDED.search(told), told
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


def _lightrag(folder: Path) -> Callable[[bytes], None]:
    graph = folder / "light" / "g.graphml"
    graph.parent.mkdir()
    graph.write_text(TRIPLES[".graphml"], "utf-8")
    return _file(graph.with_name(CHUNKS), lambda _: read_passages(graph))


def _file(path: Path, read: Callable[[Path], object]) -> Callable[[bytes], None]:
    def run(content: bytes) -> None:
        path.write_bytes(content)
        try:
            read(path)
        except ConspectusError:
            return

    return run
