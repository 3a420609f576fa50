"""Write compound files ([MS-CFB]), for messages of Outlook: streams by name, in folders of any depth."""

import struct
from collections.abc import Mapping
from itertools import pairwise

Tree = Mapping[str, "bytes | Tree"]
_END, _FREE, _NONE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFF


def compound_file(tree: Tree) -> bytes:
    """Return a compound file with these streams and folders."""
    sectors: list[bytes] = []
    fat: list[int] = []
    small: list[bytes] = []
    small_fat: list[int] = []

    def put(content: bytes, size: int, parts: list[bytes], links: list[int]) -> int:
        chunks = [content[at : at + size].ljust(size, b"\0") for at in range(0, len(content), size)]
        start = len(parts)
        parts += chunks
        links += [start + at + 1 for at in range(len(chunks) - 1)] + [_END] * bool(chunks)
        return start if chunks else _END

    entries: list[tuple[str, int, int, int, int, int]] = []  # name, kind, right, child, start, size

    def add(branch: Tree) -> int:
        places = []
        for name, content in branch.items():
            places.append(len(entries))
            entries.append(("", 0, 0, 0, 0, 0))
            if isinstance(content, bytes):
                where = (64, small, small_fat) if len(content) < 4096 else (512, sectors, fat)
                entries[places[-1]] = (name, 2, _NONE, _NONE, put(content, *where), len(content))
            else:
                entries[places[-1]] = (name, 1, _NONE, add(content), 0, 0)
        for place, right in pairwise(places):
            entries[place] = (*entries[place][:2], right, *entries[place][3:])
        return places[0] if places else _NONE

    entries.append(("Root Entry", 5, _NONE, _NONE, 0, 0))
    child = add(tree)
    together = b"".join(small)
    entries[0] = ("Root Entry", 5, _NONE, child, put(together, 512, sectors, fat), len(together))
    listed = b""
    for name, kind, right, inner, start, size in entries:
        coded = name.encode("utf-16-le")
        listed += coded.ljust(64, b"\0") + struct.pack("<HBBIII", len(coded) + 2, kind, 1, _NONE, right, inner)
        listed += bytes(36) + struct.pack("<IQ", start, size)
    directory = put(listed, 512, sectors, fat)
    n_small = -(-len(small_fat) // 128)
    links = struct.pack(f"<{len(small_fat)}I", *small_fat).ljust(512 * n_small, b"\xff")
    small_start = put(links, 512, sectors, fat)
    n_fat = 1
    while n_fat * 128 < len(sectors) + n_fat:
        n_fat += 1
    own = [len(sectors) + at for at in range(n_fat)]
    whole = [*fat, *[0xFFFFFFFD] * n_fat]
    sectors.append(struct.pack(f"<{len(whole)}I", *whole).ljust(512 * n_fat, b"\xff"))
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    head += struct.pack("<IIIIIIIII", 0, n_fat, directory, 0, 4096, small_start, n_small, _END, 0)
    head += struct.pack(f"<{n_fat}I", *own)
    return head.ljust(512, b"\xff") + b"".join(sectors)
