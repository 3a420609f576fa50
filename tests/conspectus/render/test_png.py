"""Drawings as PNG: with words in any script, and one clear line where they cannot be made."""

import io
import sys
from functools import partial

import pytest
from conspectus.render.png import BLANK, ZOOM, png_of
from conspectus.storage.errors import MissingPart
from PIL import Image


@pytest.fixture
def font() -> None:
    try:
        png_of(BLANK)
    except MissingPart as error:
        pytest.skip(str(error))


def drawn(words: str) -> str:
    text = f'<text x="4" y="20" font-family="Helvetica, Arial, sans-serif" fill="#000000">{words}</text>'
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="200" height="30">'
        f'<rect width="200" height="30" fill="#ffffff"/>{text}</svg>'
    )


@pytest.mark.usefixtures("font")
def test_a_drawing_comes_out_with_its_words() -> None:
    with Image.open(io.BytesIO(png_of(drawn("Grey Heron")))) as picture:
        assert (picture.format, picture.size) == ("PNG", (200 * ZOOM, 30 * ZOOM))
        dark = sum(picture.convert("L").histogram()[:100])
    assert dark > 200
    assert png_of(drawn("Grey Heron")) == png_of(drawn("Grey Heron")) != png_of(drawn("Heron"))


@pytest.mark.usefixtures("font")
def test_an_empty_drawing_is_an_empty_picture() -> None:
    with Image.open(io.BytesIO(png_of(BLANK))) as picture:
        assert picture.convert("RGBA").getextrema() == ((0, 0),) * 4


def test_without_the_extra_one_line_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(MissingPart, match=r"pip install 'conspectus\[png\]'"):
        png_of(BLANK)


def test_without_a_font_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    resvg = pytest.importorskip("resvg_py")
    monkeypatch.setattr(resvg, "svg_to_bytes", partial(resvg.svg_to_bytes, skip_system_fonts=True))
    with pytest.raises(MissingPart, match="fonts-dejavu-core"):
        png_of(drawn("x"))
