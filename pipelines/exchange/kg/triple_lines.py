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
    _read(path, into, "|" if b"\t" not in first and first.count(b"|") == _BARS else "\t")


_BARS = 2


def _read(path: Path, into: GraphBuilder, separator: str) -> None:
    name, predicate, add = into.name, into.predicate, into.add
    further: list[str] = []
    for number, line in lines_of(path):
        try:
            cells = line.decode("utf-8").split(separator)
        except UnicodeDecodeError:
            into.fail(f"{path.name}:{number}", "not UTF-8", line.decode("utf-8", "replace"))
            continue
        head, relation, tail = map(str.strip, cells) if len(cells) == _PARTS else ("", "", "")
        if head and relation and tail:
            if number > 1 or not _is_header(cells):
                add(name(head), predicate(relation), name(tail))
        elif number == 1 and len(cells) > _PARTS and _is_header(cells):
            further = [cell.strip() for cell in cells[_PARTS:]]
        elif line.strip() and not _qualified(cells, further, into):
            into.fail(f"{path.name}:{number}", _wrong(cells), separator.join(cells))


def read_csv(path: Path, into: GraphBuilder, _language: str = "") -> None:
    """Read rows of `head,relation,tail`, quoted according to RFC 4180."""
    rows = csv.reader(_decoded(path, into))
    further: list[str] = []
    while True:
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            into.fail(f"{path.name}:{rows.line_num}", "not a row of a CSV file", str(error))
            continue
        if len(cells) == _PARTS and all(cell.strip() for cell in cells):
            if rows.line_num > 1 or not _is_header(cells):
                into.add(into.name(cells[0].strip()), into.predicate(cells[1].strip()), into.name(cells[2].strip()))
        elif rows.line_num == 1 and len(cells) > _PARTS and _is_header(cells):
            further = [cell.strip() for cell in cells[_PARTS:]]
        elif any(cell.strip() for cell in cells) and not _qualified(cells, further, into):
            into.fail(f"{path.name}:{rows.line_num}", _wrong(cells), ",".join(cells))


def read_labels(path: Path, into: GraphBuilder) -> None:
    """Read lines of `id<TAB>label`; further columns are ignored. The first label of an id is used."""
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
            into.fail(f"{path.name}:{number}", "not an id and a label with a tab between", line.decode("utf-8"))


_FROM_A_LABELS_FILE = 1 << 40
"""Labels of a labels file rank above those in the triples."""


def _decoded(path: Path, into: GraphBuilder) -> Iterator[str]:
    for number, line in lines_of(path):
        try:
            yield line.decode("utf-8") + "\n"
        except UnicodeDecodeError:
            into.fail(f"{path.name}:{number}", "not UTF-8", line.decode("utf-8", "replace"))
            yield "\n"  # preserve the line numbers


def _is_header(cells: list[str]) -> bool:
    return all(cell.strip().lower() in known for cell, known in zip(cells, _HEADERS, strict=False))


def _qualified(cells: list[str], further: list[str], into: GraphBuilder) -> bool:
    """Add a row whose further cells are qualifiers named by the header; return whether the row is of this kind."""
    head, relation, tail, *values = (cell.strip() for cell in (*cells, "", "", ""))
    if not (head and relation and tail) or not _PARTS <= len(cells) <= _PARTS + len(further):
        return False
    told = [(name, value) for name, value in zip(further, values, strict=False) if name and value]
    into.add_qualified(into.name(head), into.predicate(relation), into.name(tail), told)
    return True


def _wrong(cells: list[str]) -> str:
    return "a column is empty" if len(cells) == _PARTS else f"{len(cells)} columns, not {_PARTS}"


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
