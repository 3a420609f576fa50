"""Find the parts of a web page that are not its text: menus, search boxes, navigation bars, tables of contents.

We use our own rules. Libraries that extract the main text (trafilatura, readability, resiliparse, jusText) lose text
of manuals: of 64 sentences that answer questions about two such sets of pages they lose 4 to 18, and these rules none
(docs/decisions/web-pages-and-mail.md). A page marks its parts by elements, roles and class names. A class name can mean
anything, so a part is removed only if links or form controls also fill it; running text always stays.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conspectus.pipelines.readers.guards import local, text_in
from conspectus.storage.text.language_tables import by_language, word_set

if TYPE_CHECKING:
    from lxml.etree import _Element

NAVIGATION, CONTENTS = "navigation", "contents"
"""Kinds of parts: navigation to other pages, and a table of contents."""

_INVISIBLE = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\b", re.I)
_TABLE = by_language("conspectus.pipelines.readers.web", "elements.txt")
_UNSEEN, _BLOCKS, BOUNDARIES, _HEADINGS, _CONTROLS = (frozenset(names.split()) for names in _TABLE["elements"].values())
"""Elements that never contain text of the page, that may be left out, that separate texts, headings and controls."""

_ROLES, _NAMES, _NAMES_OF_EDGES, _NAMES_OF_CONTENTS, _SIGNS_OF_LINKS = (
    frozenset(names.split()) for names in _TABLE["names"].values()
)
_CONTENTS_TITLES = word_set("contents")
_LEADS = {
    f"{role}:{word}" if role in ("rel", "key") else word: kind.replace("elsewhere", "")
    for kind, rows in by_language("conspectus.pipelines.readers.web", "navigation.txt").items()
    for role, words in rows.items()
    for word in words.split()
}
"""Where the relations, keys and words of links lead."""

_FOOTERS = re.compile("|".join(_TABLE["footers"].values()), re.I)
_LONGEST_FOOTER = 200
_LONGEST_HEAD = 300
"""Maximum characters before a page's title that are removed."""
_LONGEST_BAR = 400
_MOSTLY = 0.5
_ALMOST_ALL, _ALL = 0.85, 0.97
_FEWEST_ENTRIES = 3
_LEAST_TEXT = 500
"""If less than a fifth of a page's text, and less than this, is outside of such parts, they are its text."""


@dataclass(slots=True)
class _Facts:
    """Counts for an element. Characters are those of its visible text except whitespace."""

    signs: int = 0
    linked: int = 0
    links: int = 0
    within: int = 0  # links to anchors of the page
    moves: int = 0  # links labelled next, previous, up, home
    headings: int = 0
    controls: int = 0
    blocks: int = 0  # in the element, which is not counted itself

    def add(self, other: "_Facts", is_block: bool) -> None:
        """Add the counts of a child."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.blocks += is_block

    def is_linked(self, share: float) -> bool:
        return self.linked >= share * self.signs


def is_unseen(element: "_Element") -> bool:
    """Return whether browsers do not show an element, or show only a control."""
    if local(element).lower() in _UNSEEN:
        return True
    hidden = element.get("hidden")
    return (hidden is not None and hidden != "until-found") or bool(_INVISIBLE.search(element.get("style") or ""))


def parts_beside_text(root: "_Element", title: str | None, name: str = "") -> "dict[_Element, str]":
    """Return the outermost elements of a page that are not its text, with their kinds.

    A short part before the title is not text. `name` is the file name, which links to the page itself have.
    """
    facts = _facts_of(root, name)
    whole = facts[root].signs if root in facts else 0
    main = next((one for one in facts if "main" in (local(one).lower(), (one.get("role") or "").lower())), None)
    if main is not None and facts[main].signs < _MOSTLY * whole:
        main = None
    around = {main, *main.iterancestors()} if main is not None else {root}
    found: dict[_Element, str] = {}
    leaves: list[_Element] = []
    gone: set[_Element | None] = set()
    in_main: set[_Element | None] = {main} if main is not None else {root}
    for element, own in facts.items():  # in document order
        parent = element.getparent()
        if parent in in_main:
            in_main.add(element)
        kind = _kind(element, own) or ("" if element in in_main else NAVIGATION)
        if parent in gone:
            gone.add(element)
        elif kind and element not in around and local(element).lower() != "body":
            found[element] = kind
            gone.add(element)
        elif _is_block(element) and own.signs and not own.blocks:
            leaves.append(element)
    found |= _titles_of_contents(found)
    if main is None:
        found |= _head_and_foot(leaves, facts, title)
    left = whole - sum(facts[element].signs for element in found)
    if left < _LEAST_TEXT and left < whole / 5:
        return {element: kind for element, kind in found.items() if local(element).lower() == "nav"}
    return found


def link_kind(link: "_Element") -> str | None:
    """Return next, previous or up for a link of that kind, "" for one to the beginning or similar, else None."""
    pictures = [item.get("alt") or "" for item in link.iter() if local(item).lower() == "img"]
    words = "".join([*map(str, link.itertext()), *pictures]).lower().split()
    said = [f"rel:{relation}" for relation in (link.get("rel") or "").lower().split()]
    said += [f"key:{(link.get('accesskey') or '').lower()}", "-".join(words).strip("[]<>«»←→↑:|-")]
    return next((_LEADS[each] for each in said if each in _LEADS), None)


def _facts_of(root: "_Element", name: str) -> "dict[_Element, _Facts]":
    """Return the facts of all visible elements, in document order."""
    from lxml import etree

    facts: dict[_Element, _Facts] = {}
    open_links = 0
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        parent = facts.get(element.getparent()) if element is not root else None
        tag = local(element).lower() if isinstance(element.tag, str) else ""
        is_link = tag == "a" and element.get("href") is not None
        if event == "start":
            if not tag or is_unseen(element):
                walk.skip_subtree()
                if parent and tag in _CONTROLS:
                    parent.controls += 1
                continue
            own = facts[element] = _Facts(headings=tag in _HEADINGS, controls=tag in _CONTROLS)
            if is_link:
                open_links += 1
                address = (element.get("href") or "").strip()
                own.links, own.moves = 1, link_kind(element) is not None
                own.within = address.startswith("#") or bool(name and address.startswith(f"{name}#"))
            _count(own, element.text, open_links)
        else:
            if element in facts:
                open_links -= is_link
                if parent:
                    parent.add(facts[element], _is_block(element))
            if parent:
                _count(parent, element.tail, open_links)
    return facts


def _count(facts: _Facts, text: str | None, links: int) -> None:
    signs = sum(map(len, text.split())) if text else 0
    facts.signs += signs
    facts.linked += signs if links else 0


def _kind(element: "_Element", facts: _Facts) -> str:
    """Return the kind of a part that is not text, "" for text."""
    tag = local(element).lower()
    role = (element.get("role") or "").lower()
    if tag == "nav" or tag == "search":
        return NAVIGATION
    names = frozenset(re.split(r"[^a-z0-9]+", f"{element.get('class') or ''} {element.get('id') or ''}".lower()))
    if names & _SIGNS_OF_LINKS and facts.signs <= 2:
        return NAVIGATION
    if tag not in _BLOCKS and tag != "span":
        return ""
    if facts.links >= 2 and facts.is_linked(_MOSTLY) and (names & _NAMES_OF_CONTENTS or role == "doc-toc"):
        return CONTENTS
    at_edge = tag == "footer" or (tag != "p" and names & _NAMES_OF_EDGES)
    if at_edge and facts.signs <= _LONGEST_FOOTER and not facts.headings:
        return NAVIGATION
    if (at_edge or names & _NAMES or role in _ROLES) and facts.links + facts.controls and _is_furniture(facts):
        return NAVIGATION
    if facts.links < 2 or tag == "span":
        return ""
    if facts.moves >= 2 and facts.signs <= _LONGEST_BAR and not facts.headings and facts.is_linked(_MOSTLY):
        return NAVIGATION
    share = _ALMOST_ALL if tag in ("ul", "ol", "dl", "p") else _ALL  # a division may hold the page's title too
    if facts.links >= _FEWEST_ENTRIES and facts.within >= 0.9 * facts.links and facts.is_linked(share):
        return CONTENTS
    return ""


def _is_furniture(facts: _Facts) -> bool:
    """Return whether links fill a part, or it is short and has only form controls or moves (arrows next to titles)."""
    is_bar = facts.signs <= _LONGEST_BAR and not facts.headings
    return facts.is_linked(_MOSTLY) or (is_bar and (facts.controls > 0 or 0 < facts.links == facts.moves))


def _titles_of_contents(found: "dict[_Element, str]") -> "dict[_Element, str]":
    """Return the headings and lines "Contents" before tables of contents."""
    titles = {}
    for element, kind in found.items():
        before = element.getprevious()
        if kind == CONTENTS and before is not None and isinstance(before.tag, str):
            text = text_in(before).strip(":").lower()
            if text in _CONTENTS_TITLES and not (before.tail or "").strip():
                titles[before] = NAVIGATION
    return titles


def _head_and_foot(
    leaves: "list[_Element]", facts: "dict[_Element, _Facts]", title: str | None
) -> "dict[_Element, str]":
    """Return short blocks before the page's title, and the last ones if they state the date or author of the page."""
    beside: dict[_Element, str] = {}
    signs = 0
    for at, element in enumerate(leaves):
        if title and text_in(element) == title:
            beside |= dict.fromkeys((one for one in leaves[:at] if local(one).lower() in ("div", "li")), NAVIGATION)
            break
        signs += facts[element].signs
        if signs > _LONGEST_HEAD or local(element).lower() in ("p", *_HEADINGS):
            break
    for element in leaves[:0:-1]:
        if facts[element].signs > _LONGEST_FOOTER or not _FOOTERS.match(text_in(element)):
            break
        beside[element] = NAVIGATION
    return beside


def _is_block(element: "_Element") -> bool:
    tag = local(element).lower()
    return tag in _BLOCKS or tag in _HEADINGS


def relations(root: "_Element") -> "Iterator[tuple[str, str]]":
    """Yield (kind, address) of the links in the head of a page to next, previous, up, an index or a glossary."""
    for element in root.iter():
        if local(element).lower() == "link" and element.get("href"):
            for relation in (element.get("rel") or "").lower().split():
                kind = _LEADS.get(f"rel:{relation}") or (relation if relation in ("index", "glossary") else "")
                if kind:
                    yield kind, element.get("href") or ""
