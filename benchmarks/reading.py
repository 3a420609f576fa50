"""Speed and memory of each format's reader.

    python benchmarks/reading.py [--megabytes 5] [--formats txt,pdf] [--split]

Files of prose are made in a temporary folder. Each is read in a separate process, so that its peak memory can be
measured; "nothing" is such a process that reads one sentence. A megabyte means UTF-8 text, whatever the size of the
file. With --split the text is also cut into chunks.
"""

import argparse
import csv
import email.message
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

WORDS = (
    "the of and to in is that it was for on are with as his they at be this from have or by one had not but what "
    "all were when we there can an your which their said if do will each about how up out them then she many some "
    "so these would other into has more her two like him see time could no make than first been its who now people "
    "Mara Paris Marie Curie physics polonium discovered university research city river mountain government history"
).split()
CHINESE = "北京大学位于市海淀区是中国著名的鲁迅曾在任教红楼梦研究很有他们说这一个人我来到时为们生子和你地出道也"


def prose(size: int, seed: int = 7) -> Iterator[str]:
    """Yield paragraphs of English-like prose, `size` bytes in all."""
    chance = random.Random(seed)
    while size > 0:
        sentences = [" ".join(chance.choices(WORDS, k=chance.randint(6, 24))).capitalize() + "." for _ in range(6)]
        paragraph = " ".join(sentences)
        size -= len(paragraph) + 2
        yield paragraph


def chinese(size: int) -> Iterator[str]:
    """Yield paragraphs of Chinese characters, `size` bytes in all."""
    chance = random.Random(7)
    while size > 0:
        paragraph = "".join("".join(chance.choices(CHINESE, k=chance.randint(8, 40))) + "。" for _ in range(6))
        size -= len(paragraph.encode()) + 2
        yield paragraph


def emoji(size: int) -> Iterator[str]:
    """Yield English-like prose with one emoji per megabyte."""
    since = 0
    for paragraph in prose(size):
        since += len(paragraph) + 2
        if since > 1_000_000:
            since = 0
            yield paragraph + " \N{GRINNING FACE}"
        else:
            yield paragraph


def text_of(paragraphs: Callable[[int], Iterator[str]]) -> Callable[[Path, int], None]:
    """Return a maker of plain text."""

    def make(path: Path, size: int) -> None:
        with path.open("w", encoding="utf-8") as stream:
            stream.writelines(f"{paragraph}\n\n" for paragraph in paragraphs(size))

    return make


def _markdown(path: Path, size: int) -> None:
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(f"## Section {number}\n\n{item}\n\n" for number, item in enumerate(prose(size)))


def _table(path: Path, size: int) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, dialect="excel-tab" if path.suffix == ".tsv" else "excel")
        writer.writerow(["id", "text"])
        writer.writerows([str(number), paragraph] for number, paragraph in enumerate(prose(size)))


def _json_lines(path: Path, size: int) -> None:
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps({"text": paragraph}) + "\n" for paragraph in prose(size))


def _json(path: Path, size: int) -> None:
    path.write_text(json.dumps([{"text": paragraph} for paragraph in prose(size)]), "utf-8")


def _parquet(path: Path, size: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"text": list(prose(size))}), path)


def _html(path: Path, size: int) -> None:
    body = "\n".join(f"<h2>Section {number}</h2><p>{item}</p>" for number, item in enumerate(prose(size)))
    path.write_text(f"<!doctype html><title>Prose</title><body>{body}</body>", "utf-8")


def _workbook(path: Path, size: int) -> None:
    from openpyxl import Workbook

    book = Workbook(write_only=True)
    sheet = book.create_sheet("Prose")
    for number, paragraph in enumerate(prose(size)):
        sheet.append([number, paragraph])
    book.save(path)


def _word(path: Path, size: int) -> None:
    from docx import Document

    document = Document()
    for paragraph in prose(size):
        document.add_paragraph(paragraph)
    document.save(str(path))


def _slides(path: Path, size: int) -> None:
    from pptx import Presentation

    deck = Presentation()
    for paragraph in prose(size):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.placeholders[1].text = paragraph
    deck.save(str(path))


def _pdf(path: Path, size: int) -> None:
    from reportlab.lib.styles import getSampleStyleSheet  # type: ignore[import-untyped]
    from reportlab.platypus import Paragraph, SimpleDocTemplate  # type: ignore[import-untyped]

    style = getSampleStyleSheet()["BodyText"]
    SimpleDocTemplate(str(path)).build([Paragraph(paragraph, style) for paragraph in prose(size)])


def _epub(path: Path, size: int) -> None:
    chapter = "".join(f"<p>{paragraph}</p>" for paragraph in prose(size // 10))
    parts = [f"c{number}.xhtml" for number in range(10)]
    items = "".join(f'<item id="{part}" href="{part}" media-type="application/xhtml+xml"/>' for part in parts)
    spine = "".join(f'<itemref idref="{part}"/>' for part in parts)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        book.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>'
            '<rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
        )
        book.writestr(
            "book.opf",
            '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata '
            'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Prose</dc:title></metadata>'
            f"<manifest>{items}</manifest><spine>{spine}</spine></package>",
        )
        for entry in parts:
            book.writestr(
                entry,
                f'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body>{chapter}</body></html>',
            )


def _mail(path: Path, size: int) -> None:
    message = email.message.EmailMessage()
    message["Subject"] = "Prose"
    message.set_content("\n\n".join(prose(size)))
    path.write_bytes(message.as_bytes())


def _archive(path: Path, size: int) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(10):
            archive.writestr(f"{number}.txt", "\n\n".join(prose(size // 10, seed=number)))


MAKERS: dict[str, tuple[str, Callable[[Path, int], None]]] = {
    "txt": ("prose.txt", text_of(prose)),
    "chinese": ("chinese.txt", text_of(chinese)),
    "emoji": ("emoji.txt", text_of(emoji)),
    "md": ("prose.md", _markdown),
    "csv": ("prose.csv", _table),
    "tsv": ("prose.tsv", _table),
    "jsonl": ("prose.jsonl", _json_lines),
    "json": ("prose.json", _json),
    "parquet": ("prose.parquet", _parquet),
    "html": ("prose.html", _html),
    "xlsx": ("prose.xlsx", _workbook),
    "docx": ("prose.docx", _word),
    "pptx": ("prose.pptx", _slides),
    "pdf": ("prose.pdf", _pdf),
    "epub": ("prose.epub", _epub),
    "eml": ("prose.eml", _mail),
    "zip": ("prose.zip", _archive),
}
"""File name and maker of each format."""


def measure(path: Path, split: bool) -> None:
    """Read a file, and print time and memory as JSON."""
    from conspectus.pipelines.steps.documents import read_documents
    from conspectus.storage.settings import ChunkSettings, InputSettings

    began = time.perf_counter()
    documents, failures = read_documents([path], InputSettings())
    read = time.perf_counter() - began
    began = time.perf_counter()
    chunks = 0
    if split:
        from conspectus.pipelines.steps.chunks import split_documents

        chunks = len(split_documents(documents, ChunkSettings()))
    result = {
        "documents": len(documents),
        "failures": len(failures),
        "bytes": sum(len(document.text.encode()) for document in documents),
        "chunks": chunks,
        "read": read,
        "split": time.perf_counter() - began,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(result))


def main() -> None:
    """Make the files, read each in a separate process, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=5, help="text in each file")
    parser.add_argument("--formats", default=",".join(MAKERS), help="some of: " + ",".join(MAKERS))
    parser.add_argument("--split", action="store_true", help="cut into chunks too")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    size = int(options.megabytes * 1e6)
    if options.make:
        MAKERS[options.formats][1](options.make, size)
        return
    if options.measure:
        measure(options.measure, options.split)
        return
    print(
        f"{'format':>8} {'file MB':>8} {'documents':>9} {'read MB/s':>9} {'chunks':>8} {'split s':>8} {'peak MiB':>8}"
    )
    with tempfile.TemporaryDirectory() as folder:
        nothing = Path(folder, "nothing.txt")
        nothing.write_text("One sentence.", "utf-8")
        files = {"nothing": nothing}
        for name in options.formats.split(","):
            files[name] = Path(folder, MAKERS[name][0])
            # Not here: a process inherits the peak of its parent.
            make = ["--make", str(files[name]), "--formats", name, "--megabytes", str(options.megabytes)]
            subprocess.run([sys.executable, __file__, *make], check=True)
        for name, path in files.items():
            command = [sys.executable, __file__, "--measure", str(path), *(["--split"] if options.split else [])]
            done = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            speed = done["bytes"] / 1e6 / done["read"]
            lost = f"  {done['failures']} failures" if done["failures"] else ""
            print(
                f"{name:>8} {path.stat().st_size / 1e6:8.1f} {done['documents']:9} {speed:9.1f} {done['chunks']:8} "
                f"{done['split']:8.1f} {done['peak']:8.0f}{lost}",
                flush=True,
            )


if __name__ == "__main__":
    main()
