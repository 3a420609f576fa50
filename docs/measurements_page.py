"""Write docs/measurements.md and the table of the README from benchmarks/results: `python docs/measurements_page.py`.

A file of results has `name`, `command`, `date`, `machine` and `figures`: what the benchmark wrote with `--json`
(`python -m benchmarks.record`). `TABLES` says which figures are shown. Figures are a list or a mapping of rows; a
column is a path of keys in a row. A table of several files has a row for each.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGE, README = ROOT / "docs" / "measurements.md", ROOT / "README.md"


class Column(NamedTuple):
    """A column: its head, the path of its figure in a row, how many digits are shown, and of which multiple."""

    head: str
    path: str
    digits: int | None = None
    factor: float = 1.0


class Table(NamedTuple):
    """A table that answers a question.

    Attributes:
        question: Its title.
        files: Files of results, separated by spaces. Of several, each is a row.
        label: The head of the first column.
        columns: The others; none for all figures of the rows as they are.
        at: Where the rows are in the figures.
        note: A sentence about it.
        digits: Digits of shown fractions where `columns` is empty.
    """

    question: str
    files: str
    label: str = ""
    columns: tuple[Column, ...] = ()
    at: str = ""
    note: str = ""
    digits: int | None = None


METHODS = ("bm25", "dense", "hybrid", "ppr")
SUITES = "hotpotqa musique advhotpot qmsum"
_ANSWERED = (
    Column("contains an accepted answer", "accepted", 2),
    Column("all parts of it", "complete", 2),
    Column("declined: unanswerable", "declined@unanswerable", 2),
    Column("declined: answerable", "declined@answerable", 2),
)
_STEPS = ("embed chunks", "extract", "embed reports", "embed entities", "embed relations", "between steps")
_FLOORS = ("tagger alone", "encoder alone", "reading and writing")
_ASKED = ("ppr", "dense", "bm25", "global", "tog2")
_MB, _GB = 1e-6, 1e-9

_HEAD = """# Measurements

`python docs/measurements_page.py` writes this page from `benchmarks/results/*.json`, the newest run of each. To measure
again: `python -m benchmarks.record NAME COMMAND`, where COMMAND stands above the table; figures of commands without
`--json` are entered by hand. Unless a line says otherwise: 24 GB, no accelerator, Python 3.11, no language model,
all-MiniLM-L6-v2, default settings. R@5 is recall of supporting documents among the first five; brackets are 95 %
bootstrap intervals. [Decisions](decisions/index.md) has what was compared, [the log](log.md) how figures came about.

A question set is a folder with `corpus.jsonl` (`id`, `title`, `text`) and `questions.jsonl` (`id`, `question`,
`answers`, and `supporting`: the ids of the documents that support the answer); [graphs.md](graphs.md#evaluation)
describes sets over a graph. `hotpotqa` (CC BY-SA 4.0), `musique` (CC BY 4.0), `advhotpot` (from HotpotQA, as ToG-2 uses
it) and `qmsum` (MIT) are not in this repository; `examples/world` is.
"""

TABLES: dict[str, tuple[Table, ...]] = {
    "How good": (
        Table(
            "Are the supporting documents among the first five?",
            SUITES,
            "R@5",
            tuple(Column(method, f"methods/{method}/recall@5", 3) for method in METHODS),
            note="The constants of `ppr` were chosen while looking at these sets "
            "([decision](decisions/personalized-pagerank.md)).",
        ),
        Table(
            "Is the evidence in the first five passages of real documents?",
            "realdocs",
            "share of the evidence",
            tuple(Column(method, f"{method}/evidence_recall@5", 2) for method in METHODS),
            note="27 questions to SQLite's documentation, 18 to a German handbook, 18 to PDF manuals, 13 to mail.",
        ),
        Table("Which methods answer best over real documents?", "realdocs_methods", "method", _ANSWERED, "all"),
        Table("Is a question answered only by documents that can?", "answers", digits=3),
        Table("Does it know when not to answer?", "abstention", digits=3),
        Table(
            "Are natural questions to four graphs answered?",
            "natural_graphs",
            digits=2,
            note="Hits@1 of 108 questions; 12 more have no answer. `fasttog`, `gretriever` and `sparql` are as `auto`.",
        ),
        Table(
            "And questions made from templates?",
            "template_graphs",
            digits=3,
            note="Hits@1; `tog2` on webqsp linked: all 400. `plan` and `fasttog`: before paths were compared as texts.",
        ),
        Table(
            "How much of a meeting must an answer read?",
            "sensemaking",
            "condition",
            (
                Column("units", "units", 1),
                Column("tokens", "context_tokens", 0),
                Column("answered", "known", 2),
                Column("ROUGE-L", "rougeL", 3),
            ),
        ),
        Table("What does extraction without a model find?", "extraction", digits=3),
        Table(
            "Are the replies of real models read?",
            "replies",
            "756 recorded replies",
            (Column("read rightly", "heard", 3),),
        ),
    ),
    "How fast": (
        Table(
            "How long does indexing take?",
            "indexing_994 indexing_4112",
            "seconds on one thread",
            (
                Column("all", "seconds", 1),
                *(Column(step, f"steps/{step}", 1) for step in _STEPS),
                *(Column(f"floor: {floor}", f"floors/{floor}", 1) for floor in _FLOORS),
                Column("MiB", "peak_mib", 0),
            ),
        ),
        Table(
            "How does it grow with the corpus?",
            "scale",
            "generated passages",
            (
                Column("ms a passage without tagger and encoder", "cpu_ms_per_passage", 1),
                Column("build, processor s", "cpu_seconds", 0),
                Column("build, s", "seconds", 0),
                Column("opening, ms", "open_seconds", 0, 1000),
                Column("first question, s", "first_question_seconds", 1),
                *(Column(f"`{method}`, ms", f"questions/{method}/cpu_ms", 0) for method in _ASKED),
                Column("filtered: first, s", "filtered_first_seconds", 1),
                Column("then, ms", "filtered_ms", 0),
            ),
        ),
        Table("How long does a command take?", "start_up"),
        Table("How fast is indexing with a model?", "speed", note="Ideal is calls x 0.2 s / 32."),
        Table("How many questions does a server answer?", "serving serving_no_model", note="And without `--model`."),
        Table("And beside LightRAG, under the same load?", "serving_lightrag"),
    ),
    "How much memory": (
        Table(
            "What do a build and a reader need?",
            "scale",
            "generated passages, MB",
            (
                Column("build, no file behind", "peak_bytes", 0, _MB),
                Column("until it is published", "published_peak_bytes", 0, _MB),
                Column("with mapped pages", "resident_peak_bytes", 0, _MB),
                Column("reader after a question", "reader_bytes_after_first", 0, _MB),
                Column("after all methods", "reader_bytes", 0, _MB),
                Column("behind a filter", "filtered_reader_bytes", 0, _MB),
            ),
        ),
    ),
    "How large": (
        Table(
            "How large is an index?",
            "scale",
            "generated passages",
            (Column("index, GB", "version_bytes", 1, _GB), Column("cache, GB", "cache_bytes", 1, _GB)),
        ),
        Table("How large is an installation?", "installation"),
    ),
}


def page() -> str:
    """Return the page."""
    parts = [_HEAD]
    for section, tables in TABLES.items():
        parts.append(f"## {section}\n")
        parts += [f"**{table.question}** {_table(table)}" for table in tables]
    return "\n".join(parts)


def readme_table() -> str:
    """Return the table of the README: R@5 of the sets, and the evidence of real documents."""
    lines = ["| questions | bm25 | dense | hybrid | ppr |", "| --- | --- | --- | --- | --- |"]
    for file in SUITES.split():
        found = _read(file)
        methods = found["figures"]["methods"]
        means = [f"{methods[method]['recall@5']['mean']:.3f}".lstrip("0") for method in METHODS]
        interval = _shown(methods["ppr"]["recall@5"], 3).partition(" ")[2]
        lines.append(_line([found["name"], *means[:-1], f"**{means[-1]}** {interval}"]))
    found = _read("realdocs")
    *others, last = (_shown(found["figures"]["all"][method]["evidence_recall@5"], 2) for method in METHODS)
    return "\n".join([*lines, _line([found["name"], *others, f"**{last}**"])]) + "\n"


def with_table(readme: str) -> str:
    """Return the README with the table of today."""
    return re.sub(r"^\| questions \| bm25 .*?\n(?=\n)", lambda _: readme_table(), readme, flags=re.M | re.S)


def _table(table: Table) -> str:
    files = [_read(file) for file in table.files.split()]
    rows = list(_rows(table, files))
    label, columns = table.label, table.columns
    if not columns:  # all figures; the first one of a row is its name
        label, *keys = dict.fromkeys(key for _, row in rows for key in row)
        columns = tuple(Column(key, key, table.digits) for key in keys)
    head = [label, *(column.head for column in columns)]
    body = [[name, *(_shown(_at(row, each.path), each.digits, each.factor) for each in columns)] for name, row in rows]
    measured = f"`{files[0]['command']}`, {max(file['date'] for file in files)}, {files[0]['machine']}."
    lines = [_line(head), _line(["---"] * len(head)), *map(_line, body)]
    return f"{measured} {table.note}".rstrip() + "\n\n" + "\n".join(lines) + "\n"


def _rows(table: Table, files: list[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield the name and the figures of each row."""
    for file in files:
        figures = _at(file["figures"], table.at)
        if not all(isinstance(row, dict) for row in _values(figures)):
            yield file["name"], figures
        elif isinstance(figures, dict):
            yield from ((f"{int(name):,}" if name.isdigit() else name, row) for name, row in figures.items())
        else:
            yield from ((_shown(next(iter(row.values()))), row) for row in figures)


def _values(figures: Any) -> Any:  # noqa: ANN401  (a mapping or a list)
    return figures.values() if isinstance(figures, dict) else figures


def _read(file: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / f"{file}.json").read_text("utf-8"))
    return found


def _at(row: Any, path: str) -> Any:  # noqa: ANN401  (any JSON)
    if isinstance(row, dict) and path in row:
        return row[path]
    for key in filter(None, path.split("/")):
        row = row.get(key) if isinstance(row, dict) else None
    return row


def _shown(value: Any, digits: int | None = None, factor: float = 1.0) -> str:  # noqa: ANN401  (any JSON)
    """Return a figure as it is shown; with its interval, if it has one."""
    if isinstance(value, dict):
        low, high = (_shown(value.get(key), digits) for key in ("low", "high"))
        return f"{_shown(value['mean'], digits)}{f' [{low}, {high}]' if low else ''}"
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, int) and factor == 1:
        return f"{value:,}"
    shown = f"{value * factor:,}" if digits is None else f"{value * factor:,.{digits}f}"
    return re.sub(r"^0(?=\.)", "", shown)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    README.write_text(with_table(README.read_text("utf-8")), "utf-8")
