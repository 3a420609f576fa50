"""Read pictures of pages: PNG, JPEG and TIFF files, and pictures inside other files, by RapidOCR (the extra `ocr`).

Its models are those in its package; nothing is ever fetched. What is recognised on a page is a place of kind "area",
so that a citation tells where on the page it stands.
"""

import base64
import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from conspectus.pipelines.readers.archives import Nest, read_part
from conspectus.pipelines.readers.encodings import UnknownFormat, Unreadable, clean
from conspectus.pipelines.readers.formats import PICTURES, can_recognise
from conspectus.pipelines.readers.guards import at_progress, member_blocks, open_zip
from conspectus.pipelines.readers.page_layout import Line, blocks
from conspectus.pipelines.readers.rows import Draft, Lost, Row
from conspectus.storage.settings import InputSettings

if TYPE_CHECKING:
    from PIL.Image import Image
    from rapidocr import RapidOCR

LONGEST_SIDE = 2400
"""Pixels to which a page is reduced: A4 at 200 dots an inch has 2,340."""
_MODELS = {
    "Det": "PP-OCRv6_det_small.onnx",
    "Cls": "ch_ppocr_mobile_v2.0_cls_mobile.onnx",
    "Rec": "PP-OCRv6_rec_small.onnx",
}
_MOST_PIXELS, _SMALLEST = 200_000_000, 24
_LETTERS = 0.5
"""The least number of letters in a line for a width that equals its height: of scripts that the model does not know, it
reads the digits and leaves the letters out. Chinese has one, Latin letters two."""
_EMBEDDED = re.compile(rb"data:image/(png|jpe?g|tiff?);base64,([A-Za-z0-9+/=\s]+)")


class Scan(NamedTuple):
    """What was recognised on a page: paragraphs and tables with the places of their boxes on it, and how surely."""

    blocks: Sequence[tuple[str, str]]
    confidence: float


def why_not(settings: InputSettings) -> str:
    """Return why scans are not read, and what to do; "" if they are."""
    if settings.ocr == "off":
        return "input.ocr is off"
    return "" if can_recognise() else "pip install 'conspectus[ocr]' reads scans"


def recognised(image: "Image", settings: InputSettings) -> Scan:
    """Return what is written on the picture of a page.

    Raises Unreadable if it lies on its side or was read with less confidence than `input.ocr_confidence`, UnknownFormat
    if nothing is written on it.
    """
    import numpy as np

    nothing = UnknownFormat("picture without text", "no letters were found on it")
    if min(image.size) < _SMALLEST:
        raise nothing
    picture = image.convert("RGB")
    picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    found: Any = _engine()(np.asarray(picture)[:, :, ::-1])
    for say in at_progress:
        say()
    texts = [" ".join(clean(text).split()) for text in found.txts or ()]
    if not any(texts):
        raise nothing
    corners = np.asarray(found.boxes, np.float64)  # of each line clockwise, from the upper left
    wide, high = corners[:, 1, 0] - corners[:, 0, 0], corners[:, 3, 1] - corners[:, 0, 1]
    if np.mean(high > 2 * wide) > 0.5:
        raise Unreadable("lies on its side, or is written downwards", "turn the picture")
    letters = np.array([len(text.replace(" ", "")) for text in texts])
    sure = np.array(found.scores) * np.minimum(1, letters * np.maximum(high, 1) / (_LETTERS * np.maximum(wide, 1)))
    confidence = float(np.average(sure, weights=np.maximum(wide, 1)))
    if confidence < settings.ocr_confidence:
        raise Unreadable(
            f"read with a confidence of {confidence:.2f}",
            f"below input.ocr_confidence ({settings.ocr_confidence:g}): a bad picture, or letters unknown to the model",
        )
    angle = np.median(np.arctan2(corners[:, 1, 1] - corners[:, 0, 1], wide))
    upright = corners @ np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    boxes = np.concatenate([upright.min(axis=1), upright.max(axis=1)], axis=1).tolist()
    lines = [
        Line(left, top, right, bottom, text)
        for (left, top, right, bottom), text in zip(boxes, texts, strict=True)
        if text
    ]
    return Scan([(block.text, _area(block, picture.size)) for block in blocks(lines)], confidence)


def _area(block: Line, size: tuple[int, int]) -> str:
    left, top, right, bottom = (
        round(100 * min(max(value / whole, 0.0), 1.0)) for value, whole in zip(block[:4], (*size, *size), strict=True)
    )
    return f"{left}-{right} % across, {top}-{bottom} % down"


@cache
def _engine() -> "RapidOCR":
    """Load the packaged models. A package without them is refused: rapidocr would fetch what it lacks."""
    import onnxruntime
    import rapidocr

    folder = Path(rapidocr.__file__).parent / "models"
    for name in _MODELS.values():
        if not (folder / name).is_file():
            raise Unreadable("no model to read it", f"rapidocr {version('rapidocr')} is without {name}")
    onnxruntime.disable_telemetry_events()
    paths = {f"{part}.model_path": str(folder / name) for part, name in _MODELS.items()}
    quiet = {"Global.log_level": "critical", "Global.text_score": 0.0, "Global.max_side_len": LONGEST_SIDE}
    # Lines are looked for in a picture of 960 pixels: in larger ones a single line on a page is not found. One thread:
    # as fast beside other work, and the same bits on every machine.
    found = {"Det.limit_type": "max", "Det.limit_side_len": 960, "EngineConfig.onnxruntime.intra_op_num_threads": 1}
    return rapidocr.RapidOCR(params=paths | quiet | found)


def read_picture(path: Path, settings: InputSettings) -> Iterator[Row | Lost]:
    """Yield a picture as one row with its pages and areas as places; a page that cannot be read is `Lost`."""
    if why := why_not(settings):
        raise UnknownFormat("picture", why)
    draft, lost, confidences = Draft(), [], dict[str, float]()
    unread: Unreadable | None = None
    for number, image in enumerate(_pages(path), 1):
        try:
            scan = recognised(image, settings)
        except Unreadable as error:
            unread = error
            if not isinstance(error, UnknownFormat):  # not for a blank page
                lost.append(Lost(None, f"page {number}: {error.reason}", error.detail))
            continue
        draft.begin("page", str(number))
        for text, area in scan.blocks:
            draft.begin("area", area)
            draft.add(text)
        confidences[str(number)] = scan.confidence
    if unread and not confidences:
        raise unread
    yield draft.row(None, with_confidence(confidences))
    yield from lost


def with_confidence(confidences: dict[str, float]) -> dict[str, str]:
    """Return the metadata of pages that were recognised, by their labels."""
    said = "; ".join(f"page {page}: {each:.2f}" for page, each in confidences.items())
    return {"ocr_confidence": said} if said else {}


def _pages(path: Path) -> "Iterator[Image]":
    from PIL import Image, ImageOps, ImageSequence

    Image.MAX_IMAGE_PIXELS = None  # the size is checked here
    try:
        with Image.open(path, formats=("PNG", "JPEG", "TIFF")) as image:
            for page in ImageSequence.Iterator(image):
                if page.width * page.height > _MOST_PIXELS:
                    raise Unreadable("too large a picture", f"{page.width} x {page.height} pixels")
                yield ImageOps.exif_transpose(page)
    except (OSError, ValueError, SyntaxError, EOFError, TypeError, KeyError, OverflowError) as error:
        raise Unreadable("damaged picture", type(error).__name__) from error


def rows_and_pictures(rows: Iterator[Row | Lost], path: Path, settings: InputSettings) -> Iterator[Row | Lost]:
    """Yield the rows of a file, then those of the pictures inside it that have text, `within` their names."""
    empty: Unreadable | None = None
    try:
        yield from rows
    except Unreadable as error:
        if error.reason != "no text":
            raise
        empty = error
    nest = Nest.outermost(settings)
    for name, content in _inside(path, settings):
        for row in read_part(name, content, settings, nest):
            if isinstance(row, Row) or not row.skipped:
                empty = None
                yield row
    if empty:
        raise empty


def _inside(path: Path, settings: InputSettings) -> "Iterator[tuple[str, list[bytes]]]":
    """Yield the names and contents of the pictures in a package, or of those that are embedded in a web page."""
    if path.suffix.lower().endswith(("html", "htm")):
        for number, found in enumerate(_EMBEDDED.finditer(path.read_bytes()), 1):
            kind = {b"png": "png", b"tif": "tif", b"tiff": "tif"}.get(found[1], "jpg")
            yield f"picture {number}.{kind}", [base64.b64decode(found[2] + b"===")]
        return
    with open_zip(path, settings.max_archive_bytes) as archive:
        for member in archive.infolist():
            if PurePosixPath(member.filename).suffix.lower() in PICTURES:
                yield member.filename, [b"".join(member_blocks(archive, member))]
