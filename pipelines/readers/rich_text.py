"""Read Rich Text (.rtf) by way of striprtf: the paragraphs of the text."""

import re
from collections.abc import Iterator
from pathlib import Path

from conspectus.pipelines.readers.encodings import Unreadable, clean
from conspectus.pipelines.readers.rows import Draft, Row
from conspectus.storage.settings import InputSettings

_FONT = re.compile(r"\\f(\d{1,6})\b[^;]{0,80}?\\fcharset(\d{1,3})")


def read_rtf(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield the text of a Rich Text file; raises Unreadable for a file that is damaged or too large."""
    from striprtf.striprtf import rtf_to_text

    content = path.read_bytes()
    if not content:
        raise Unreadable("empty")
    if not content.lstrip().startswith(b"{\\rtf"):
        raise Unreadable("damaged document", "it does not begin like Rich Text")
    # The patterns of striprtf for links and fonts take cubic time on hostile files: it gets neither.
    markup = content.decode("latin-1").replace("\\fldinst", "\\unread")
    before, table, after = markup.partition("{\\fonttbl")
    if table:
        fonts = "".join(
            f"{{\\f{number}\\fcharset{charset} F;}}\n" for number, charset in _FONT.findall(after[:100_000])
        )
        markup = f"{before}{{\\fonttbl{fonts}}}{{\\*\\unread{after.replace(table, '')}"
    try:
        text: str = rtf_to_text(markup, errors="replace")  # type: ignore[no-untyped-call]
    except (ValueError, LookupError, IndexError) as error:
        raise Unreadable("damaged document", str(error)[:200]) from error
    draft = Draft(settings)
    for paragraph in clean(text).split("\n"):
        draft.add(paragraph)
    yield draft.row(None, {})
