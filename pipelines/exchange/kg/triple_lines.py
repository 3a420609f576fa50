"""Triples in rows of three columns: head, relation, tail."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

from conspectus.pipelines.exchange.kg.builder import Collector
from conspectus.pipelines.exchange.kg.files import lines_of

_HEADERS = (
    {"head", "subject", "source", "s", "from", "start", "head_id", "subject_id"},
    {"relation", "predicate", "property", "p", "r", "edge", "type", "label", "relation_id", "predicate_id"},
    {"tail", "object", "target", "o", "t", "to", "end", "tail_id", "object_id"},
)


def read_tsv(path: Path, into: Collector, language: str = "") -> None:
    """Read lines of `head<TAB>relation<TAB>tail`; nothing is quoted or escaped."""
    _read(path, into, "\t")


def read_txt(path: Path, into: Collector, language: str = "") -> None:
    """Read lines with tabs or, where the first has none, with bars: `head|relation|tail`, MetaQA's form."""
    _, first = next(lines_of(path), (0, b""))
    _read(path, into, "|" if b"\t" not in first and first.count(b"|") == _BARS else "\t")


_BARS = 2


def _read(path: Path, into: Collector, separator: str) -> None:
    name, predicate, add = into.name, into.predicate, into.add
    for number, line in lines_of(path):
        try:
            cells = line.decode("utf-8").split(separator)
        except UnicodeDecodeError:
            into.fail(f"{path.name}:{number}", "not UTF-8", line.decode("utf-8", "replace"))
            continue
        head, said, tail = map(str.strip, cells) if len(cells) == 3 else ("", "", "")
        if head and said and tail:
            if number > 1 or not _is_header(cells):
                add(name(head), predicate(said), name(tail))
        elif line.strip():
            into.fail(f"{path.name}:{number}", _wrong(cells), separator.join(cells))


def read_csv(path: Path, into: Collector, language: str = "") -> None:
    """Read rows of `head,relation,tail`, quoted as RFC 4180 has it."""
    rows = csv.reader(_decoded(path, into))
    while True:
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            into.fail(f"{path.name}:{rows.line_num}", "no row of a CSV file", str(error))
            continue
        if len(cells) == 3 and all(each.strip() for each in cells):
            if rows.line_num > 1 or not _is_header(cells):
                into.add(into.name(cells[0].strip()), into.predicate(cells[1].strip()), into.name(cells[2].strip()))
        elif any(each.strip() for each in cells):
            into.fail(f"{path.name}:{rows.line_num}", _wrong(cells), ",".join(cells))


def read_labels(path: Path, into: Collector) -> None:
    """Read lines of `id<TAB>label`; what stands behind a second tab does not count. Of two labels the first counts."""
    for number, line in lines_of(path):
        try:
            id_, _, rest = line.decode("utf-8").partition("\t")
        except UnicodeDecodeError:
            into.fail(f"{path.name}:{number}", "not UTF-8", line.decode("utf-8", "replace"))
            continue
        label = rest.partition("\t")[0].strip()
        if id_.strip() and label:
            into.label(id_.strip(), label, number - _FROM_A_LABELS_FILE)
        elif line.strip():
            into.fail(f"{path.name}:{number}", "no id and label with a tab between", line.decode("utf-8"))


_FROM_A_LABELS_FILE = 1 << 40
"""Such labels outrank those that stand among the triples."""


def _decoded(path: Path, into: Collector) -> Iterator[str]:
    for number, line in lines_of(path):
        try:
            yield line.decode("utf-8") + "\n"
        except UnicodeDecodeError:
            into.fail(f"{path.name}:{number}", "not UTF-8", line.decode("utf-8", "replace"))
            yield "\n"  # the numbers of the lines stay what they are


def _is_header(cells: list[str]) -> bool:
    return all(each.strip().lower() in known for each, known in zip(cells, _HEADERS, strict=True))


def _wrong(cells: list[str]) -> str:
    return "a column is empty" if len(cells) == 3 else f"{len(cells)} columns, not 3"


def read_jsonl(path: Path, into: Collector, language: str = "") -> None:
    """Read lines of `[head, relation, tail]`, or of objects whose `graph` is a list of such."""
    for number, line in lines_of(path):
        if not line.strip():
            continue
        item = f"{path.name}:{number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            into.fail(item, "not JSON", str(error))
            continue
        triples = row.get("graph") if isinstance(row, dict) else [row]
        if not isinstance(triples, list):
            into.fail(item, "no triple and no graph", line[:100].decode("utf-8", "replace"))
            continue
        for each in triples:
            if (
                isinstance(each, list)
                and len(each) == 3
                and all(isinstance(part, str) and part.strip() for part in each)
            ):
                source, predicate, target = (part.strip() for part in each)
                into.add(into.name(source), into.predicate(predicate), into.name(target))
            else:
                into.fail(item, "no triple of texts", repr(each))
