"""reStructuredText, Org and LaTeX: headings, links and anchors of what is otherwise read as it is written."""

from pathlib import Path

from conspectus.pipelines.readers.rows import Row

from tests.pipelines.readers.reading import read

RST = """=====
Pumps
=====

See `the valves <valves.html>`_, :ref:`care`, `Parts`_ and `the site`_.

.. _care:
.. _the site: https://example.org/

Care of ``pumps``
-----------------

Oil it::

    ----
    oil

Parts
-----
Few.
"""
ORG = "#+TITLE: Notes\n* Pumps\nSee [[file:guide.rst][the guide]].\n** TODO Hand pumps   :tag:\nOne.\n"
LATEX = r"""\documentclass{article}\title{On Pumps}
\begin{document}\maketitle
\section{The \emph{pump}}\label{s}
A \textbf{pump} moves 90\,\% of it. % really
\begin{itemize}\item fast \item[old] slow\end{itemize}
\subsection*{Care}
\begin{verbatim}
oil --all
\end{verbatim}
\end{document} not this"""


def row_of(path: Path, text: str) -> Row:
    path.write_text(text)
    return read(path)[0][""]


def headings(row: Row) -> list[tuple[str, int]]:
    return [(place.label, place.level) for place in row.places]


def links(row: Row) -> list[tuple[str, str]]:
    return [(row.text[link.start : link.end], link.target) for link in row.hyperlinks]


def test_restructured_text(tmp_path: Path) -> None:
    row = row_of(tmp_path / "guide.rst", RST)
    assert (row.text, row.title) == (RST, "Pumps")
    assert headings(row) == [("Pumps", 1), ("Care of pumps", 2), ("Parts", 2)]
    assert links(row) == [
        ("the valves", "valves.html"), ("care", "#care"), ("Parts", "#parts"), ("the site", "https://example.org/"),
    ]  # fmt: skip
    anchors = {anchor.id: row.text[anchor.start :].split("\n")[0] for anchor in row.anchors}
    assert anchors == {"pumps": "Pumps", "care": ".. _care:", "care-of-pumps": "Care of ``pumps``", "parts": "Parts"}


def test_org(tmp_path: Path) -> None:
    row = row_of(tmp_path / "notes.org", ORG)
    assert (row.text, row.title, headings(row)) == (ORG, "Notes", [("Pumps", 1), ("Hand pumps", 2)])
    assert links(row) == [("the guide", "guide.rst")]


def test_latex(tmp_path: Path) -> None:
    row = row_of(tmp_path / "paper.tex", LATEX)
    assert (row.title, headings(row)) == ("On Pumps", [("The pump", 3), ("Care", 4)])
    assert "A pump moves 90" in row.text
    assert "- fast - old: slow" in " ".join(row.text.split())
    assert row.text.endswith("```\noil --all\n\n```") or row.text.endswith("```\noil --all\n```")
    assert not any(word in row.text for word in ("really", "maketitle", "not this", "label"))
