"""CPU seconds of indexing, by step, and lower bounds for some of them.

    python -m benchmarks.indexing_steps INPUT [INPUT ...] [--json OUT]

The build runs in this process with an empty memo and without a model. Nested steps (the embedding of names during
name resolution) are counted separately. The lower bounds follow the steps: the tagger alone on the passages,
the encoder alone on the distinct texts that have vectors, reading the documents, and writing the tables.
"""

import argparse
import json
import resource
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from conspectus.pipelines.build_index import build_index
from conspectus.pipelines.runner import RunHere
from conspectus.pipelines.steps.documents import read_documents
from conspectus.pipelines.steps.vectors import MOST_EMBEDDED, rows_to_embed, windows_of_chunks
from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Chunk, Document, Entity, Relation, Report
from conspectus.storage.settings import Settings
from conspectus.storage.tables import TABLES, write_table
from conspectus.storage.text.embedded import entity_text, predicate_texts, relation_text, report_text
from conspectus.storage.text.nlp import open_annotator

BETWEEN = "between steps"


class Clock:
    """Charges the CPU time between two progress reports to the innermost running step."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._open: list[str] = []
        self._last = time.process_time()

    @property
    def running(self) -> str:
        """The innermost running step."""
        return self._open[-1] if self._open else BETWEEN

    def __call__(self, step: str, done: int, total: int) -> None:
        """Take a progress report."""
        now = time.process_time()
        self.seconds[self.running] += now - self._last
        self._last = now
        if step not in self._open:
            self._open.append(step)
        if total and done == total:
            self._open.remove(step)


def spent(work: Callable[[], object]) -> float:
    """Return the CPU seconds of some work."""
    began = time.process_time()
    work()
    return time.process_time() - began


def floors(inputs: Sequence[str], index: StoredIndex, settings: Settings) -> dict[str, float]:
    """Return the CPU seconds of the indispensable parts of a build, each run by itself."""
    chunks, documents, entities = index.rows(Chunk), index.rows(Document), index.rows(Entity)
    relations, reports = index.rows(Relation), index.rows(Report)
    extraction = settings.extraction
    annotator = open_annotator(extraction.pipeline, "en")
    annotator.annotate(chunks[0].text)
    embedder = open_embedder(settings.embedding, settings.embedding_server)
    embedder.embed(["one text, so that the encoder is loaded"])
    name_of = {entity.id: entity.name for entity in entities}
    embedded = [
        *(text for windows in windows_of_chunks(documents, chunks) for text in windows),
        *(entity_text(entities[row]) for row in rows_to_embed(entities, MOST_EMBEDDED)),
        *(relation_text(relation, name_of) for relation in relations if relation.chunk_ids),
        *predicate_texts(relations),
        *map(report_text, reports),
    ]
    texts = dict.fromkeys(window for text in embedded for window in embedder.windows(text))
    tables = {name: index.rows(record) for name, record in TABLES.items()}
    with tempfile.TemporaryDirectory() as folder:
        return {
            f"tagger alone, {len(chunks):,} passages": spent(
                lambda: annotator.annotate_all(list(dict.fromkeys(chunk.text for chunk in chunks)))
            ),
            f"encoder alone, {len(texts):,} texts": spent(lambda: embedder.embed(list(texts))),
            f"reading, {len(documents):,} documents": spent(lambda: read_documents(inputs, settings.input)),
            "writing the tables": spent(
                lambda: [write_table(Path(folder) / name, TABLES[name], rows) for name, rows in tables.items()]
            ),
        }


def main() -> None:
    """Build, measure the lower bounds, and print both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", nargs="+")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    options = parser.parse_args()
    settings = Settings()
    with tempfile.TemporaryDirectory() as folder:
        clock = Clock()
        began = time.process_time()
        report = build_index(options.inputs, Path(folder) / "index", settings, RunHere(clock), clock)
        whole = time.process_time() - began
        clock.seconds[BETWEEN] += whole - sum(clock.seconds.values())
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        least = floors(options.inputs, StoredIndex.open(Path(folder) / "index"), settings)
    steps = dict(sorted(clock.seconds.items(), key=lambda item: -item[1]))
    print(f"{report.rows['documents']:,} documents, {report.rows['chunks']:,} passages; peak {peak:,.0f} MiB")
    for name, seconds in {**steps, "all": whole, **least}.items():
        print(f"{seconds:9.1f} s {seconds / whole:5.0%}  {name}")
    if options.json:
        figures = {"rows": dict(report.rows), "peak_mib": peak, "seconds": whole, "steps": steps, "floors": least}
        options.json.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
