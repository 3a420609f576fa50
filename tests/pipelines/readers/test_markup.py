"""reStructuredText without its marks, with headings, links and anchors; LaTeX without its commands."""

from pathlib import Path

import pytest
from conspectus.pipelines.readers.rows import Row

from tests.pipelines.readers.reading import read, row_of

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


def headings(row: Row) -> list[tuple[str, int]]:
    return [(place.label, place.level) for place in row.places]


def links(row: Row) -> list[tuple[str, str]]:
    return [(row.text[link.start : link.end], link.target) for link in row.hyperlinks]


def test_restructured_text(tmp_path: Path) -> None:
    row = row_of(tmp_path / "guide.rst", RST)
    assert row.title == "Pumps"
    assert row.text == (
        "Pumps\n\nSee the valves, care, Parts and the site.\n\nCare of pumps\n\nOil it:\n\n"
        "```\n----\noil\n```\n\nParts\n\nFew."
    )
    assert headings(row) == [("Pumps", 1), ("Care of pumps", 2), ("Parts", 2)]
    assert links(row) == [
        ("the valves", "valves.html"), ("care", "#care"), ("Parts", "#parts"), ("the site", "https://example.org/"),
    ]  # fmt: skip
    anchors = {anchor.id: row.text[anchor.start :].split("\n")[0] for anchor in row.anchors}
    assert anchors == {
        "pumps": "Pumps", "care": "Care of pumps", "care-of-pumps": "Care of pumps", "parts": "Parts",
    }  # fmt: skip


def test_latex(tmp_path: Path) -> None:
    row = row_of(tmp_path / "paper.tex", LATEX)
    assert (row.title, headings(row)) == ("On Pumps", [("On Pumps", 1), ("The pump", 3), ("Care", 4)])
    assert "A pump moves 90" in row.text
    assert "- fast - old: slow" in " ".join(row.text.split())
    assert row.text.endswith("```\noil --all\n\n```") or row.text.endswith("```\noil --all\n```")
    assert not any(word in row.text for word in ("really", "maketitle", "not this", "label"))


PAPER = r"""\newcommand{\sys}{PumpNet}\newcommand{\of}[2]{#1 of \sys{} (#2)}
\title{\sys: Mending Pumps}
\author{Ada Holm\thanks{Works at \sys.} \\ University of X \\ \texttt{a@x} \and Bo Ek}
\begin{document}\begin{abstract}We show \sys{} here.\end{abstract}
\section{Parts}The \of{size}{m} is 3.\footnote{In 2022.} It runs~\cite{a,b}.
\begin{tabular}{lr}\hline kind & 14 \\ \textbf{age} & 2 \\ \hline\end{tabular}
\begin{thebibliography}{9}\bibitem{a} K. Moss. 2019.\end{thebibliography}\end{document}"""


def test_a_paper_has_its_macros_authors_notes_and_references(tmp_path: Path) -> None:
    row = row_of(tmp_path / "paper.tex", PAPER)
    assert row.metadata == {"author": "Ada Holm, Bo Ek"}
    assert [label for label, _ in headings(row)] == ["PumpNet: Mending Pumps", "Abstract", "Parts", "References"]
    assert row.text.split("\n\n")[1:] == [
        "Authors: Ada Holm, Bo Ek", "Abstract", "We show PumpNet here.", "Parts",
        "The size of PumpNet (m) is 3. It runs.", "In 2022.", "| kind | 14 |\n| age | 2 |",
        "References", "K. Moss. 2019.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        r"\newcommand{\a}{\b\b\b}\newcommand{\b}{\a\a\a}" + r"\a" * 3_000,
        r"\begin{tabular}{l} a & b " * 20_000,
        r"\footnote{\footnote{" * 20_000,
    ],
)
def test_hostile_latex_stays_bounded(tmp_path: Path, text: str) -> None:
    path = tmp_path / "paper.tex"
    path.write_text("Words. " + text)
    rows, lost = read(path)
    assert lost or len(rows[""].text) < 10 * len(text) + 10_000
