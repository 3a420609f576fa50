"""Cases for fuzzing: real examples that were damaged, joined or cut, and random bytes; for a seed always the same."""

import io
import random
import zipfile
from collections.abc import Iterator, Sequence

TOKENS = (
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\x1b[31m", b"\r\n", b"\n\n", b"{", b"}", b"[" * 300, b'{"a":' * 300,
    b'"', b"\\", b"\\u0000", b"\\ud800", b"null", b"NaN", b"Infinity", b"-1", b"1e999", b"9" * 400, b"true",
    b"```json\n",
    b"<|>", b"##\n", b"<|COMPLETE|>", b'("entity"<|>', b"{Yes} {", b"</p>", b"<!DOCTYPE x [", b"<![CDATA[", b"&x;",
    b"From ", b"Content-Type: multipart/mixed; boundary=", b"%PDF-1.7", b"endobj", b"stream\n", b"PK\x03\x04",
    b"\x1f\x8b\x08", b"PAR1", b"IxFI", b"\x93NUMPY", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff\xff\xff\xff\xff",
    b"\xf0\x9f\x98\x80", b"\xe2\x80\xae", b"\t", b"@prefix", b"_:", b"<http://", b"^^<", b"..", b"/../../etc/passwd",
)  # fmt: skip
"""Pieces that mean something to one format or another."""


def cases(seeds: Sequence[bytes], count: int, seed: int) -> Iterator[bytes]:
    """Yield so many cases: a tenth random bytes, the others made of the seeds."""
    chance = random.Random(seed)
    for _ in range(count):
        if chance.random() < 0.1:
            yield chance.randbytes(chance.choice((0, 1, 7, 64, 500, 5_000)))
            continue
        whole = chance.choice(seeds)
        if zipfile.is_zipfile(io.BytesIO(whole)) and chance.random() < 0.5:
            yield _damaged_inside(whole, chance)
        else:
            yield _damaged(whole, seeds, chance)


def _damaged(whole: bytes, seeds: Sequence[bytes], chance: random.Random) -> bytes:
    changed = bytearray(whole)
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(changed) + 1)
        how = chance.randrange(7)
        if how == 0:
            del changed[at:]
        elif how == 1:
            del changed[at : at + chance.randrange(1, 200)]
        elif how == 2:
            changed[at:at] = chance.choice(TOKENS)
        elif how == 3:
            piece = chance.choice(seeds)
            begin = chance.randrange(len(piece) + 1)
            changed[at : at + chance.randrange(50)] = piece[begin : begin + chance.randrange(1, 400)]
        elif how == 4:
            changed[at:at] = changed[at : at + chance.randrange(1, 60)] * chance.choice((2, 20, 200))
        else:
            for _ in range(chance.choice((1, 3, 10, 50))):
                if changed:
                    changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _damaged_inside(whole: bytes, chance: random.Random) -> bytes:
    """Return a zip archive that is sound, with damage in one of its members."""
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    if not members:
        return whole
    hit = chance.choice(sorted(members))
    members[hit] = _damaged(members[hit], list(members.values()), chance)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return made.getvalue()
