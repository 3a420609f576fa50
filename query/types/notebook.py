"""Answers as HTML and as Markdown, for notebooks. The texts are untrusted: nothing in them is markup."""

import re
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conspectus.query.types.answer import Answer, Citation

_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|<>~$&-])")


def answer_html(answer: "Answer") -> str:
    """Return an answer and its sources as HTML, everything escaped."""
    paragraphs = "".join(f"<p>{escape(part)}</p>" for part in answer.text.split("\n") if part.strip())
    sources = "".join(f"<li value='{number}'>{escape(line)}</li>" for number, line in _sources(answer))
    return f"<div>{paragraphs}{f'<ol>{sources}</ol>' if sources else ''}</div>"


def answer_markdown(answer: "Answer") -> str:
    """Return an answer and its sources as Markdown; what would be markup in a text is escaped."""
    lines = [escaped(part) for part in answer.text.split("\n")]
    sources = [f"{number}. {escaped(line)}" for number, line in _sources(answer)]
    return "\n".join([*lines, *(["", *sources] if sources else [])])


def escaped(text: str) -> str:
    r"""Return a text in which Markdown sees no markup.

    >>> escaped("<b>*x*</b>")
    '\\<b\\>\\*x\\*\\</b\\>'
    """
    return _MARKUP.sub(r"\\\1", text)


def _sources(answer: "Answer") -> list[tuple[int, str]]:
    """Return the numbers of the citations and cited triples with a line about each, by number."""
    lines = [(citation.number, f"{_place(citation)}: {_quote(citation.quote)}") for citation in answer.citations]
    lines += [(triple.number, f"{triple.source} | {triple.predicate} | {triple.target}") for triple in answer.triples]
    return sorted(lines)


def _place(citation: "Citation") -> str:
    return ", ".join(filter(None, (citation.title, citation.uri, citation.place)))


def _quote(text: str) -> str:
    return f"“{' '.join(text.split())}”"
