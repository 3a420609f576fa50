"""Read triples from lines of text: TSV, CSV, JSON lines, and files of labels."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

from conspectus.pipelines.exchange.kg.builder import GraphBuilder
from conspectus.pipelines.exchange.kg.files import lines_of

_HEADERS = (
    {"head", "subject", "source", "s", "from", "start", "head_id", "subject_id"},
    {"relation", "predicate", "property", "p", "r", "edge", "type", "label", "relation_id", "predicate_id"},
    {"tail", "object", "target", "o", "t", "to", "end", "tail_id", "object_id"},
)


_PARTS = 3
"""Columns of a triple; further columns of a header qualify the statement: start, end, role."""


def read_tsv(path: Path, into: GraphBuilder, _language: str = "") -> None:
    """Read lines of `head<TAB>relation<TAB>tail`, without quotes or escapes; further columns are qualifiers."""
    _read(path, into, "\t")


def read_txt(path: Path, into: GraphBuilder, _language: str = "") -> None:
    """Read lines with tabs or, if the first line has none, with bars: `head|relation|tail`, the format of MetaQA."""
    _, first = next(lines_of(path), (0, b""))
    _read(path, into, "|" if b"\t" not in first and first.count(b"|") == _PARTS - 1 else "\t")


def read_csv(path: Path, into: GraphBuilder, _language: str = "") -> None:
    """Read rows of `head,relation,tail`, quoted according to RFC 4180."""
    _read(path, into, ",")


def _read(path: Path, into: GraphBuilder, separator: str) -> None:
    further: list[str] = []
    if separator == ",":
        rows = _csv_rows(path, into)
    else:
        rows = ((number, text.split(separator)) for number, text in _texts(path, into))
    for number, cells in rows:
        if number == 1 and len(cells) >= _PARTS and _is_header(cells):
            further = [cell.strip() for cell in cells[_PARTS:]]
        elif any(map(str.strip, cells)) and not _added(cells, further, into):
            wrong = "a column is empty" if len(cells) == _PARTS else f"{len(cells)} columns, not {_PARTS}"
            into.fail(f"{path.name}:{number}", wrong, separator.join(cells))


def _csv_rows(path: Path, into: GraphBuilder) -> Iterator[tuple[int, list[str]]]:
    rows = csv.reader(f"{text}\n" for _, text in _texts(path, into))
    while True:
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            into.fail(f"{path.name}:{rows.line_num}", "not a row of a CSV file", str(error))
        else:
            yield rows.line_num, cells


def read_labels(path: Path, into: GraphBuilder) -> None:
    """Read lines of `id<TAB>label`; further columns are ignored. The first label of an id is used."""
    for number, text in _texts(path, into):
        id_, label, *_ = (cell.strip() for cell in (*text.split("\t"), ""))
        if id_ and label:
            into.label(id_, label, number - _FROM_A_LABELS_FILE)
        elif text.strip():
            into.fail(f"{path.name}:{number}", "not an id and a label with a tab between", text)


_FROM_A_LABELS_FILE = 1 << 40
"""Labels of a labels file rank above those in the triples."""


def _texts(path: Path, into: GraphBuilder) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a file; a line that is not UTF-8 is a failure, and empty."""
    for number, line in lines_of(path):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            into.fail(f"{path.name}:{number}", "not UTF-8", line.decode("utf-8", "replace"))
            text = ""
        yield number, text


def _is_header(cells: list[str]) -> bool:
    return all(cell.strip().lower() in known for cell, known in zip(cells, _HEADERS, strict=False))


def _added(cells: list[str], further: list[str], into: GraphBuilder) -> bool:
    """Add a triple, its further cells as the qualifiers named by the header; return False if the row is not one."""
    head, relation, tail, *values = (cell.strip() for cell in (*cells, "", "", ""))
    if not (head and relation and tail) or not _PARTS <= len(cells) <= _PARTS + len(further):
        return False
    told = [(name, value) for name, value in zip(further, values, strict=False) if name and value]
    into.add_qualified(into.name(head), into.predicate(relation), into.name(tail), told)
    return True


def read_jsonl(path: Path, into: GraphBuilder, _language: str = "") -> None:
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
            into.fail(item, "neither a triple nor a graph", line[:100].decode("utf-8", "replace"))
            continue
        for triple in triples:
            if (
                isinstance(triple, list)
                and len(triple) == 3
                and all(isinstance(part, str) and part.strip() for part in triple)
            ):
                source, predicate, target = (part.strip() for part in triple)
                into.add(into.name(source), into.predicate(predicate), into.name(target))
            else:
                into.fail(item, "not a triple of texts", repr(triple))
