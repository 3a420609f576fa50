"""Archives that would do harm are refused before anything is inflated."""

import io
import struct
import warnings
import zipfile

import pytest
from conspectus.pipelines.readers.encodings import Unreadable
from conspectus.pipelines.readers.guards import member_blocks, open_zip


def zipped(*members: tuple[str, bytes]) -> bytes:
    made = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")  # of two members with one name
        for name, content in members:
            archive.writestr(name, content)
    return made.getvalue()


def reason(content: bytes, max_bytes: int = 10**9) -> str:
    def read() -> None:
        with open_zip(io.BytesIO(content), max_bytes) as archive:
            for info in archive.infolist():
                list(member_blocks(archive, info))

    with pytest.raises(Unreadable) as caught:
        read()
    return f"{caught.value.reason}: {caught.value.detail}"


def patched(content: bytes, signature: bytes, offset: int, form: str, value: int) -> bytes:
    """Return an archive with one field of its first header of a kind overwritten."""
    at = content.index(signature) + offset
    return content[:at] + struct.pack(form, value) + content[at + struct.calcsize(form) :]


GOOD = zipped(("a.txt", b"A" * 50), ("b/c.txt", b"C"))


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/x", "..\\x", "\\\\host\\x"])
def test_names_that_lead_elsewhere(name: str) -> None:
    assert "points elsewhere" in reason(zipped((name, b"x")))


def test_a_name_with_nul() -> None:
    assert "points elsewhere" in reason(zipped(("abc", b"x")).replace(b"abc", b"a\0c"))


def test_too_much_data() -> None:
    assert "archive too large: 51 bytes" in reason(GOOD, max_bytes=50)


def test_a_bomb() -> None:
    assert "extreme compression ratio" in reason(zipped(("x", bytes(20_000_000))))


def test_encrypted_members() -> None:
    assert "encrypted" in reason(patched(GOOD, b"PK\x01\x02", 8, "<H", 1))


@pytest.mark.parametrize("declared", [10, 49, 51, 10_000])
def test_members_that_hold_something_else_than_they_declare(declared: int) -> None:
    lying = patched(GOOD, b"PK\x01\x02", 24, "<L", declared)
    assert "damaged archive" in reason(lying)


@pytest.mark.parametrize("content", [b"", b"PK", GOOD[:-5], GOOD[:60], b"x" * 1000])
def test_what_is_no_archive(content: bytes) -> None:
    assert "damaged archive" in reason(content)
