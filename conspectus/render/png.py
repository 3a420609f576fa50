"""Convert an SVG drawing to PNG with resvg (the extra `png`)."""

from conspectus.storage.errors import MissingPart

_SANS = ("Helvetica", "Arial", "DejaVu Sans", "Liberation Sans", "Noto Sans", "FreeSans", "Verdana", "Segoe UI")
"""Common sans-serif fonts of systems; the first available one is used, and others fill in missing characters."""
BLANK = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"></svg>'
_LETTER = BLANK.replace("></", '><text x="2" y="16" font-family="sans-serif">x</text></')
ZOOM = 2.0
"""Pixels for each unit of the drawing, so that small words are readable."""


def png_of(svg: str) -> bytes:
    """Return one of our SVG drawings as PNG, `ZOOM` times its size.

    MissingPart if the extra is not installed, or if the system has none of the fonts, as words would be missing.
    """
    try:
        import resvg_py
    except ImportError as error:
        raise MissingPart("a PNG drawing needs resvg: pip install 'conspectus[png]', or name an .svg file") from error

    blank = resvg_py.svg_to_bytes(svg_string=BLANK)
    for family in _SANS:
        if resvg_py.svg_to_bytes(svg_string=_LETTER, sans_serif_family=family) != blank:
            return resvg_py.svg_to_bytes(svg_string=svg, zoom=ZOOM, sans_serif_family=family)
    raise MissingPart(
        "a PNG drawing needs a font, and none of the usual ones is installed: install one (Debian: fonts-dejavu-core), "
        "or name an .svg file"
    )
