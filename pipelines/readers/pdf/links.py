"""The links inside a PDF: from words on a page to a place on another page, or to an address.

PDFium returns the rectangle and the target of each link. The words are those within the rectangle; the place is the
line at the target height.
"""

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conspectus.pipelines.readers.encodings import clean
from conspectus.pipelines.readers.pdf.unwrap import Flow, lines_of
from conspectus.storage.records import Anchor, Hyperlink

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage

_LONGEST_ADDRESS = 2_000
_BELOW = 30.0
"""Maximum points between the target height of a link and the beginning of its line below."""


@dataclass(frozen=True, slots=True)
class PageLink:
    """A link on a page: its words, and its target page (from 0) and height, or an address."""

    text: str
    page: int
    top: float | None
    address: str


def links_on(document: "PdfDocument", page: "PdfPage", text: "PdfTextPage") -> list[PageLink]:
    """Return the links of a page whose words can be read."""
    from pypdfium2 import raw

    found: list[PageLink] = []
    position, link, rectangle = ctypes.c_int(0), raw.FPDF_LINK(), raw.FS_RECTF()
    while raw.FPDFLink_Enumerate(page, ctypes.byref(position), ctypes.byref(link)):
        if not raw.FPDFLink_GetAnnotRect(link, ctypes.byref(rectangle)):
            continue
        said = text.get_text_bounded(rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
        words = " ".join(lines_of(clean(said)))
        led = _leads_to(document, link) if words else None
        if led is not None:
            found.append(PageLink(words, *led))
    return found


def _leads_to(document: "PdfDocument", link: Any) -> tuple[int, float | None, str] | None:  # noqa: ANN401  (PDFium's)
    """Return the target page and height of a link, or -1, None and an address; None if it has no target."""
    from pypdfium2 import raw

    action = raw.FPDFLink_GetAction(link)
    place = raw.FPDFLink_GetDest(document, link) or (action and raw.FPDFAction_GetDest(document, action))
    if place:
        page = raw.FPDFDest_GetDestPageIndex(document, place)
        has = [ctypes.pointer(ctypes.c_int()) for _ in range(3)]
        at = [ctypes.pointer(ctypes.c_float()) for _ in range(3)]
        told = raw.FPDFDest_GetLocationInPage(place, *has, *at)
        return (page, at[1].contents.value if told and has[1].contents.value else None, "") if page >= 0 else None
    length = raw.FPDFAction_GetURIPath(document, action, None, 0) if action else 0
    if not 1 < length <= _LONGEST_ADDRESS:
        return None
    address = ctypes.create_string_buffer(length)
    raw.FPDFAction_GetURIPath(document, action, address, length)
    return -1, None, clean(address.value.decode("utf-8", "replace"))


def line_at(text: "PdfTextPage", height: float) -> str:
    """Return the line of a page at a height, or below it; "" if there is none."""
    said = text.get_text_bounded(None, height - _BELOW, None, height)
    return next(iter(lines_of(clean(said))), "")


def placed(
    links: Sequence[Sequence[PageLink]], lines: Mapping[tuple[int, float], str], flowing: Flow
) -> tuple[list[Hyperlink], list[Anchor]]:
    """Return the links of each page at their words in the text of all, and the anchors that they target.

    `lines` are those at each page and height that links target.
    """
    ends = flowing.ends
    made: list[Hyperlink] = []
    anchors: dict[str, Anchor] = {}
    for number, on_page in enumerate(links):
        start = flowing.starts[number]
        for link in on_page if start is not None else ():
            at = flowing.text.find(link.text, start, ends[number])
            if at < 0:
                continue
            target = link.address or _anchor(link, lines, flowing, anchors)
            if target:
                made.append(Hyperlink(at, at + len(link.text), target))
                start = at + len(link.text)
    return made, sorted(anchors.values(), key=lambda anchor: (anchor.start, anchor.id))


def _anchor(link: PageLink, lines: Mapping[tuple[int, float], str], flowing: Flow, anchors: dict[str, Anchor]) -> str:
    """Return the address of a link's target place within the text, and add its anchor; "" without a place."""
    start = flowing.starts[link.page] if link.page < len(flowing.starts) else None
    if start is None:
        return ""
    line = lines.get((link.page, link.top), "") if link.top is not None else ""
    at = flowing.text.find(line, start, flowing.ends[link.page]) if line else -1
    at = at if at >= 0 else start
    anchors[f"at-{at}"] = Anchor(at, f"at-{at}")
    return f"#at-{at}"
