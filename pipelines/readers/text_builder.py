"""A text in the making: blocks and lines, and the places where its headings, pages or slides begin."""

import re
from dataclasses import dataclass, field

from conspectus.pipelines.readers.encodings import Unreadable, clean
from conspectus.pipelines.readers.row_types import as_title, too_long
from conspectus.storage.records import Place
from conspectus.storage.settings import InputSettings

_BLANKS = re.compile(r"[^\S\n]+")
_AROUND_BREAKS = re.compile(r" ?\n ?")
_UNSEEN = re.compile("[\xad\u200b\u2060\ufeff]")

_NO_TITLE = re.compile(
    r"""(?ix) \s*(?: untitled.* | \(?(?:anonymous|unspecified)\)? | microsoft\s+(?:word|powerpoint|excel)\s+-.*
        | (?:powerpoint|word)[\s-]+(?:presentation|document) | slide\s*1 | (?:no\s+)?title | document\d*
        | presentation\d*
        | .*\.(?:docx?|pptx?|xlsx?|tex|dvi|indd|pdf|qxd|fm|p65|ps|eps|rtf|odt|wpd|html?|ai)
        | [\W\d_]* )\s*"""
)


@dataclass(slots=True)
class Draft:
    """A text that grows at its end. All that goes in is cleaned first, so that places are those of the stored text."""

    settings: InputSettings
    places: list[Place] = field(default_factory=list)
    _parts: list[str] = field(default_factory=list)
    _length: int = 0
    _waiting: list[tuple[str, str, int]] = field(default_factory=list)

    def add(self, text: str, joint: str = "\n\n") -> bool:
        """Add a block, `joint` between it and what stands before; tell whether there was anything to add.

        Raises Unreadable where the text becomes longer than a text may be.
        """
        text = clean(text).strip()
        if not text:
            return False
        if self._parts:
            self._parts.append(joint)
            self._length += len(joint)
        self.places += [Place(self._length, *each) for each in self._waiting]
        self._waiting.clear()
        self._parts.append(text)
        self._length += len(text)
        if self._length > self.settings.max_characters:
            raise too_long(self.settings)
        return True

    def add_heading(self, text: str, level: int) -> None:
        """Add a heading, and its place."""
        label = as_title(text)
        if label:
            self.begin("heading", label, level)
            self.add(text)

    def begin(self, kind: str, label: str, level: int = 0) -> None:
        """Let a place begin with what is added next; one of the same kind (but headings) before any text gives way."""
        if kind != "heading":
            self._waiting = [each for each in self._waiting if each[0] == "heading"]
        self._waiting.append((kind, clean(label), level))

    def text(self) -> str:
        """Return the text; Unreadable where there is none."""
        text = "".join(self._parts)
        if not text:
            raise Unreadable("no text")
        return text


def folded(text: str) -> str:
    """Return text with single blanks, without blanks around line breaks, and without signs that are not seen."""
    return _AROUND_BREAKS.sub("\n", _BLANKS.sub(" ", _UNSEEN.sub("", text))).strip()


def sensible_title(text: str | None) -> str | None:
    """Return a title as programs write it into a file's properties; None for what is none.

    >>> sensible_title("Microsoft Word - Report v2.doc"), sensible_title("Annual  Report")
    (None, 'Annual Report')
    """
    title = as_title(text)
    return None if title is None or _NO_TITLE.fullmatch(title) else title
