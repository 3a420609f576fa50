"""Make the files of the examples that are made from others: the suites' corpora, the manual's PDF, the spreadsheet.

    python examples/make.py

Edit the pages, the novel, the manual, the minutes, the mail or `orders.csv`, then run it again. It also writes
`tests/data/isles/corpus.jsonl`, the short passages that the tests share: the first paragraphs of forty pages.
"""

import csv
import html
import json
import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from pathlib import Path

import openpyxl
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph, SimpleDocTemplate, Spacer

HERE = Path(__file__).parent
WORLD, NOVEL, OFFICE = HERE / "world", HERE / "novel", HERE / "office"
TESTS = HERE.parent / "tests" / "data" / "isles"
SHARED = (
    "marrow-vey marrow-oster cold-harbour nadia-frey golden-tern the-ninth-wave the-lamplighters josefa-quell "
    "roke-medal anselm-roke the-drowned-bell the-salt-bride oskar-venn brennick port-calder lowmere quillan "
    "sundry-head vey hollow-sound the-teeth varn-current ilse-varn ilsa-varn tidal-institute grey-petrel-1894 "
    "grey-petrel-1926 tobias-renn edda-marsh calder-and-voss skerran-packet-line magnus-hask cordelia-hask "
    "hask-library lucian-thorne great-surge salt-strike rosa-tolliver bram-tolliver lowmere-causeway"
).split()

Passage = tuple[str, str, str]
"""An id, a title and a text."""


def world() -> Iterator[Passage]:
    """Yield the pages of the invented world, without their markup."""
    for page in sorted((WORLD / "pages").iterdir()):
        body = page.read_text("utf-8").split("<body>")[1]
        heading, *paragraphs = re.findall(r"<(?:h1|p)>(.+?)</(?:h1|p)>", body)
        text = "\n\n".join(re.sub(r"<[^>]+>", "", paragraph) for paragraph in paragraphs)
        yield page.stem, html.unescape(heading), html.unescape(text)


def novel() -> Iterator[Passage]:
    """Yield the chapters of the novel."""
    _, *chapters = (NOVEL / "the-house-of-weights.md").read_text("utf-8").split("\n## ")
    for number, chapter in enumerate(chapters, 1):
        heading, text = chapter.split("\n", 1)
        yield f"chapter-{number:02}", heading, text.strip()


def office() -> Iterator[Passage]:
    """Yield the sections of the manual, the minutes, the mail and the spreadsheet."""
    manual = (OFFICE / "manual.md").read_text("utf-8")
    for number, section in enumerate(manual.split("\n## ")[1:], 1):
        heading, text = section.split("\n", 1)
        yield f"manual-{number}", f"TP-40 manual: {heading}", text.replace("### ", "").strip()
    for page in sorted((OFFICE / "documents" / "minutes").iterdir()):
        heading, text = page.read_text("utf-8").split("\n\n", 1)
        yield f"minutes-{page.stem}", heading.removeprefix("# "), text.strip()
    for letter in sorted((OFFICE / "documents" / "mail").iterdir()):
        message = message_from_bytes(letter.read_bytes(), policy=policy.default)
        head = "\n".join(f"{key}: {message[key]}" for key in ("From", "To", "Date"))
        yield f"mail-{letter.stem}", message["Subject"], f"{head}\n\n{message.get_content().strip()}"
    titles, *rows = orders()
    lines = ["; ".join(f"{title}: {value}" for title, value in zip(titles, row, strict=True)) for row in rows]
    yield "orders", "Orders", "\n".join(lines)


def orders() -> list[list[str]]:
    """Return the rows of the list of orders, the titles first."""
    return list(csv.reader((OFFICE / "orders.csv").read_text("utf-8").splitlines()))


def write_corpus(file: Path, passages: Iterator[Passage] | list[Passage]) -> None:
    """Write passages as the corpus of a suite."""
    rows = [json.dumps({"id": id_, "title": title, "text": text}, ensure_ascii=False) for id_, title, text in passages]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{row}\n" for row in rows), "utf-8")


def write_manual(file: Path) -> None:
    """Write the manual as a PDF."""
    styles = getSampleStyleSheet()
    looks = {"#": styles["Title"], "##": styles["Heading1"], "###": styles["Heading2"]}
    story = []
    for block in (OFFICE / "manual.md").read_text("utf-8").strip().split("\n\n"):
        marks, _, words = block.partition(" ")
        look = looks.get(marks)
        story += [Paragraph(html.escape(words if look else block), look or styles["BodyText"]), Spacer(1, 4)]
    SimpleDocTemplate(str(file), pagesize=A4, title="TP-40 Bilge Pump", author="Tarrow Pumps Ltd", invariant=1).build(
        story
    )


def write_orders(file: Path) -> None:
    """Write the list of orders as a spreadsheet, unless it holds them already: a new file has a new date in it."""
    rows = [tuple(int(cell) if cell.isdigit() else cell for cell in row) for row in orders()]
    if file.is_file() and list(openpyxl.load_workbook(file).worksheets[0].values) == rows:
        return
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.title = "Orders"
    for row in rows:
        sheet.append(row)
    book.save(file)


def shared() -> list[Passage]:
    """Return the first paragraphs of forty pages."""
    pages = {id_: (id_, title, text.split("\n\n")[0]) for id_, title, text in world()}
    return [pages[id_] for id_ in SHARED]


def main() -> None:
    """Write all files that are made."""
    write_corpus(WORLD / "corpus.jsonl", world())
    write_corpus(NOVEL / "corpus.jsonl", novel())
    write_corpus(OFFICE / "corpus.jsonl", office())
    write_corpus(TESTS / "corpus.jsonl", shared())
    write_manual(OFFICE / "documents" / "manual.pdf")
    write_orders(OFFICE / "documents" / "orders.xlsx")


if __name__ == "__main__":
    main()
