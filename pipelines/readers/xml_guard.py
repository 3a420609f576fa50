"""XML from strangers: no entities but XML's own, no network, bounded depth and text, and damage told as ours."""

import re
from typing import TYPE_CHECKING

from conspectus.pipelines.readers.encodings import Unreadable

if TYPE_CHECKING:
    from lxml.etree import _Element

_DOCTYPE = re.compile(rb"<!\s*(?:DOCTYPE|ENTITY)", re.I)


def parse_xml(content: bytes, name: str, *, doctype: bool = False) -> "_Element":
    """Return the root of an XML document, without comments and processing instructions.

    Entities that a document declares are never replaced; one with a document type is refused unless `doctype`.
    libxml2's limits hold: 256 levels, 10 million characters a text. Raises Unreadable, naming `name`.
    """
    from lxml import etree

    if not doctype and _DOCTYPE.search(content[: 1 << 16]):
        raise Unreadable("damaged document", f"{name} declares a document type, which no such file does")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False, huge_tree=False,
        remove_comments=True, remove_pis=True,
    )  # fmt: skip
    try:
        return etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError, LookupError) as error:
        refuse_memory(error)
        raise Unreadable("damaged document", f"{name}: {error}") from error


def refuse_memory(error: Exception) -> None:
    """Raise Unreadable where a parser ended for want of memory, which is no fault of the markup's."""
    from lxml import etree

    if isinstance(error, etree.XMLSyntaxError) and getattr(error, "code", None) == etree.ErrorTypes.ERR_NO_MEMORY:
        raise Unreadable("takes too much memory", "its markup is too large") from error


def local(element: "_Element") -> str:
    """Return an element's name without its namespace; "" for what is no element."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""
