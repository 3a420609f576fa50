"""Notebook displays of answers, evidence, explanations and indexes. Their texts are untrusted and always escaped."""

import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conspectus.query.explain.types import Explained, Explanation
    from conspectus.query.types.answer import Answer, Citation, Evidence, Passage

_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|<>~$&-])")


def answer_html(answer: "Answer") -> str:
    """Return an answer and its sources as HTML, everything escaped."""
    paragraphs = "".join(f"<p>{escape(part)}</p>" for part in _said(answer) if part.strip())
    sources = "".join(f"<li value='{number}'>{escape(line)}</li>" for number, line in _sources(answer))
    return f"<div>{paragraphs}{f'<ol>{sources}</ol>' if sources else ''}</div>"


def answer_markdown(answer: "Answer") -> str:
    """Return an answer and its sources as Markdown, with markup in texts escaped."""
    lines = [escaped(part) for part in _said(answer)]
    sources = [f"{number}. {escaped(line)}" for number, line in _sources(answer)]
    return "\n".join([*lines, *(["", *sources] if sources else [])])


def evidence_html(evidence: "Evidence") -> str:
    """Return retrieved passages, reports and relations as HTML, best first, everything escaped."""
    parts = [_table(("score", "passage", "text"), map(_passage_cells, evidence.passages))] if evidence.passages else []
    if evidence.reports:
        rows = ((f"{one.score:.3g}", one.report.title, one.report.summary) for one in evidence.reports)
        parts.append(_table(("score", "report", "summary"), rows))
    if evidence.relations:
        names = {entity.id: entity.name for entity in evidence.entities}
        ends = ((one.source_id, one.predicate or one.description, one.target_id) for one in evidence.relations)
        rows_of = ((names.get(source, source), what, names.get(target, target)) for source, what, target in ends)
        parts.append(_table(("from", "relation", "to"), rows_of))
    return f"<div>{''.join(parts) or '<p>nothing found</p>'}</div>"


def explanation_html(explanation: "Explanation") -> str:
    """Return an explanation as HTML: each passage with the terms of its score and the paths to it."""
    head = f"<p>{escape(explanation.question)}</p><p>{escape(f'{explanation.method}: {explanation.formula}')}</p>"
    rows = ((str(one.rank or ""), *_passage_cells(one.passage)[1:], _reasons(one)) for one in explanation.passages)
    return f"<div>{head}{_table(('rank', 'passage', 'text', 'why'), rows)}</div>"


def index_html(what: str, rows: Mapping[str, int]) -> str:
    """Return an index as HTML: its description, and the rows of its tables."""
    table = _table(("table", "rows"), ((name, f"{number:,}") for name, number in rows.items() if number))
    return f"<div><p>{escape(what)}</p>{table}</div>"


def escaped(text: str) -> str:
    r"""Return a text escaped so that Markdown finds no markup in it.

    >>> escaped("<b>*x*</b>")
    '\\<b\\>\\*x\\*\\</b\\>'
    """
    return _MARKUP.sub(r"\\\1", text)


def _said(answer: "Answer") -> list[str]:
    return [*filter(None, [answer.span]), *answer.text.split("\n"), *answer.notes]


def _sources(answer: "Answer") -> list[tuple[int, str]]:
    """Return the numbers of the citations and cited triples with a line about each, by number."""
    lines = [(citation.number, f"{_place(citation)}: {_quote(citation.quote)}") for citation in answer.citations]
    lines += [(triple.number, f"{triple.source} | {triple.predicate} | {triple.target}") for triple in answer.triples]
    return sorted(lines)


def _place(citation: "Citation") -> str:
    return ", ".join(filter(None, (citation.title, citation.uri, citation.place)))


def _quote(text: str) -> str:
    return f"“{' '.join(text.split())}”"


def _passage_cells(passage: "Passage") -> tuple[str, str, str]:
    where = ", ".join(filter(None, (passage.title, passage.place, f"{passage.start}-{passage.end}")))
    return f"{passage.score:.3g}", where, passage.text


def _reasons(explained: "Explained") -> str:
    parts = [f"{part.name} {part.value:.3g}: {part.detail}" for part in explained.parts]
    parts += [" → ".join([path.why, *(hop.node.name for hop in path.hops)]) for path in explained.paths]
    return "; ".join(filter(None, [*parts, explained.note]))


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = ["".join(f"<th>{escape(cell)}</th>" for cell in head)]
    lines += ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"
