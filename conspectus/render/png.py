"""Convert an SVG drawing to PNG with resvg (the extra `png`)."""

from conspectus.storage.errors import MissingPart

_SANS = ("Helvetica", "Arial", "DejaVu Sans", "Liberation Sans", "Noto Sans", "FreeSans", "Verdana", "Segoe UI")
"""Fonts without serifs that systems come with; of the first that is there the letters are, and others lend theirs."""
BLANK = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"></svg>'
_LETTER = BLANK.replace("></", '><text x="2" y="16" font-family="sans-serif">x</text></')
ZOOM = 2.0
"""Pixels for each unit of the drawing, so that small words can be read."""


def png_of(svg: str) -> bytes:
    """Return an SVG drawing of ours as PNG, `ZOOM` times its size.

    MissingPart where the extra is not installed, and where the system has none of the fonts: words would be missing.
    """
    try:
        import resvg_py
    except ImportError as error:
        raise MissingPart(
            "a drawing as PNG needs resvg: pip install 'conspectus[png]', or name an .svg file"
        ) from error

    blank = resvg_py.svg_to_bytes(svg_string=BLANK)
    for family in _SANS:
        if resvg_py.svg_to_bytes(svg_string=_LETTER, sans_serif_family=family) != blank:
            return resvg_py.svg_to_bytes(svg_string=svg, zoom=ZOOM, sans_serif_family=family)
    raise MissingPart(
        "a drawing as PNG needs a font, and none of the usual ones is here: install one (Debian: fonts-dejavu-core), "
        "or name an .svg file"
    )
