"""Where passages name titles, in a large index: found once, and mapped (see `derived`).

Which names a part of an index has, and which passages contain them, depends on no other document: a longer title must
not hide a shorter one if its document is hidden. So every occurrence of every title is stored, as if it were the only
one, and the names of a part are chosen from those of its own titles.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from conspectus.storage.appended_array import AppendedArray
from conspectus.storage.arrays import UNREADABLE_ARRAY, Bools, Ints, Rows, gather, gather_sorted
from conspectus.storage.derived import derived_folder
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.graph.walk_graph import NamedChunks, titles_of
from conspectus.storage.hashing import short_id
from conspectus.storage.index import StoredIndex, per_index
from conspectus.storage.joins import Groups, joined
from conspectus.storage.records import Chunk, Document, Name
from conspectus.storage.tables import codes_of
from conspectus.storage.text.names import NameMatcher, in_pieces, is_capitalised, is_other_word
from conspectus.storage.text.nlp import NAME, Annotation, Phrase
from conspectus.storage.text.normalise import entity_key
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

FORM = 1
"""Raised when the content of the files changes."""
_OF_OCCURRENCES = ("titles", "chunks", "starts", "ends", "lower")
_ARRAYS = ("owned", "owners", *_OF_OCCURRENCES)
_CHUNKS_AT_ONCE = 4096


@dataclass(frozen=True, slots=True, eq=False)
class TitleOccurrences:
    """The t titles of all chunks as written, and their o occurrences, by chunk and place.

    Attributes:
        surfaces: the titles, sorted, and the id of the name of each.
        owned, owners: (p,) titles, and for each a chunk that has it; together every pair of them.
        titles: (o,) the title of each occurrence.
        chunks: (o,) its chunk, ascending.
        starts, ends: (o,) its characters in the text of the chunk.
        lower: (o,) whether it is one word that begins with a lower-case letter.
    """

    surfaces: "pa.Table"
    owned: Ints
    owners: Rows
    titles: Ints
    chunks: Rows
    starts: Ints
    ends: Ints
    lower: Bools

    def of_part(self, kept: Bools, chunk_ids: Sequence[str], text_of: Callable[[int], str]) -> NamedChunks:
        """Return the names of some chunks as `name_chunks` finds them in an index of these chunks alone.

        Args:
            kept: (chunks,) which chunks.
            chunk_ids: their ids.
            text_of: returns the text of a chunk by its row among all.
        """
        row_of = np.cumsum(kept) - 1
        has = kept[self.owners]
        used, title = np.unique(self.owned[has], return_inverse=True)
        surfaces, ids = (column.to_pylist() for column in self.surfaces.take(used).columns)
        of_name = {id_: number for number, id_ in enumerate(sorted(set(ids)))}
        name_of = np.array([of_name[id_] for id_ in ids], np.int64)
        owners = Groups.of(name_of[title], row_of[self.owners[has]], len(of_name))

        # Of several ways to write a name the first is looked for.
        first = np.unique(name_of, return_index=True)[1]
        proper = np.ones(len(of_name), np.bool_)
        proper[name_of[[not is_capitalised([surface]) for surface in surfaces]]] = False
        sought = np.full(len(self.surfaces), -1)
        sought[used[first]] = np.arange(len(first))

        among = gather_sorted(self.chunks, np.flatnonzero(kept))[1]
        among = among[sought[self.titles[among]] >= 0]
        chunks, starts, ends = self.chunks[among], self.starts[among], self.ends[among]
        found = sought[self.titles[among]]
        other_word = self.lower[among] & proper[found]
        overlap = (chunks[1:] == chunks[:-1]) & (starts[1:] < ends[:-1])
        unclear = np.zeros(len(kept), np.bool_)
        unclear[chunks[1:][overlap]] = True
        clear = ~unclear[chunks]

        # Overlapping names that are nothing but words follow from their places; others are looked for again.
        seen = np.unique(found[~clear])
        plain = np.zeros(len(first), np.bool_)
        plain[seen] = [_is_plain(surfaces[first[number]]) for number in seen.tolist()]
        twice = np.append(False, overlap & (starts[1:] == starts[:-1]) & (ends[1:] == ends[:-1]))
        again = np.zeros(len(kept), np.bool_)
        again[chunks[~clear & (twice | ~plain[found])]] = True
        rows = np.flatnonzero(unclear[chunks] & ~again[chunks])
        clear[rows[_longest_first(chunks[rows], starts[rows], ends[rows])]] = True
        pairs = [found[clear & ~other_word]], [chunks[clear & ~other_word]]
        possible = {surfaces[first[number]]: int(number) for number in np.unique(found[again[chunks]])}
        matcher = NameMatcher(possible)
        for chunk in np.flatnonzero(again).tolist():
            held = [*_held(matcher, proper, text_of(chunk))]
            pairs[0].append(np.array(held, np.int64))
            pairs[1].append(np.full(len(held), chunk))
        holders = Groups.of(np.concatenate(pairs[0]), row_of[np.concatenate(pairs[1])], len(of_name))
        counts = np.diff(holders.starts).tolist()
        names = [
            Name(id_, surfaces[place], tuple(chunk_ids[row] for row in owners[number].tolist()), counts[number])
            for number, (id_, place) in enumerate(zip(of_name, first.tolist(), strict=True))
        ]
        return NamedChunks(names, owners, holders)


def _is_plain(surface: str) -> bool:
    """Return whether a name is words with a space between them, without any other sign."""
    return " ".join(in_pieces(surface)[1][1::2]) == surface


def _longest_first(chunks: Rows, starts: Ints, ends: Ints) -> Rows:
    """Return which occurrences a search finds: of those that overlap the one that begins first, then the longest."""
    order = np.lexsort((-ends, starts, chunks))
    chosen: list[int] = []
    before, free_from = -1, 0
    places = zip(order.tolist(), *(array[order].tolist() for array in (chunks, starts, ends)), strict=True)
    for row, chunk, start, end in places:
        if chunk != before or start >= free_from:
            chosen.append(row)
            before, free_from = chunk, end
    return np.array(chosen, np.int64)


def _held(matcher: NameMatcher[int], proper: Bools, text: str) -> Iterator[int]:
    for match in matcher.find(text):
        if not is_other_word(text[match.start : match.end], bool(proper[match.value])):
            yield match.value


@per_index
def title_occurrences(index: StoredIndex) -> TitleOccurrences:
    """Return the occurrences of the titles of a large index."""
    import pyarrow as pa

    folder = derived_folder(index, "titles-in-chunks", FORM, lambda place: _write(index, place))
    try:
        surfaces = pa.ipc.open_file(pa.memory_map(str(folder / "surfaces.arrow"))).read_all()
        arrays = (np.load(folder / f"{name}.npy", mmap_mode="r").view(np.ndarray) for name in _ARRAYS)
        return TitleOccurrences(surfaces, *arrays)
    except (*UNREADABLE_ARRAY, pa.ArrowException) as error:
        raise IndexCorrupt(f"{folder} cannot be read ({error}); delete it, and it is made again") from error


def _write(index: StoredIndex, folder: Path) -> None:
    import pyarrow as pa

    folder.mkdir()
    surfaces, owned, owners = _titles(index)
    matcher = NameMatcher({surface: number for number, surface in enumerate(surfaces)})
    found = [AppendedArray(folder) for _ in _OF_OCCURRENCES]
    for start in range(0, index.manifest.rows["chunks"], _CHUNKS_AT_ONCE):
        texts = index.arrow(Chunk, "text").column("text").slice(start, _CHUNKS_AT_ONCE).to_pylist()
        rows = [
            (title, chunk, first, last, is_other_word(text[first:last], capitalised=True))
            for chunk, text in enumerate(texts, start)
            for first, last, title in sorted(matcher.each(text))
        ]
        for appended, column in zip(found, np.array(rows, np.int64).reshape(-1, len(found)).T, strict=True):
            appended.append(column)
    arrays: list[NDArray[Any]] = [owned, owners.astype(np.int32), *(appended.array() for appended in found)]
    for name, array in zip(_ARRAYS, arrays, strict=True):
        np.save(folder / f"{name}.npy", array.astype(np.bool_) if name == "lower" else array)
    ids = [short_id("name", entity_key(surface)) for surface in surfaces]
    batch = pa.record_batch({"surface": pa.array(surfaces, pa.string()), "id": pa.array(ids, pa.string())})
    with pa.ipc.new_file(str(folder / "surfaces.arrow"), batch.schema) as stream:
        stream.write_batch(batch)


def _titles(index: StoredIndex) -> tuple[list[str], NDArray[np.int32], Rows]:
    """Return (titles as written, sorted; their numbers (p,), and beside them the chunks that have them (p,))."""
    title_of, titles = codes_of(index.arrow(Document, "title").column("title"))
    title_of = title_of[joined(index).documents]
    own = [titles_of(title, Annotation((), ())) if title.strip() else [] for title in titles]
    untitled = np.flatnonzero(np.array([not title.strip() for title in titles], np.bool_)[title_of])
    chunks = index.each(Chunk)
    beginnings = begins(index, (chunks[row] for row in untitled.tolist()), [""] * len(untitled))
    title_of[untitled] = len(own) + np.arange(len(untitled))
    own += [titles_of("", begin) for begin in beginnings]
    surfaces = sorted({surface for each in own for surface in each})
    number_of = {surface: number for number, surface in enumerate(surfaces)}
    numbers = np.array([number_of[surface] for each in own for surface in each], np.int32)
    starts = np.append(0, np.cumsum([len(each) for each in own], dtype=np.int64))
    counts, entries = gather(starts, title_of)
    return surfaces, numbers[entries], np.repeat(np.arange(len(title_of)), counts)


def begins(index: StoredIndex, chunks: Iterable[Chunk], titles: Sequence[str]) -> Iterator[Annotation]:
    """Yield for each of some chunks the name at its beginning, if the index knows it and its document has no title.

    Args:
        index: the index.
        chunks: the chunks.
        titles: the title of the document of each.
    """
    of_chunk: defaultdict[str, list[str]] = defaultdict(list)
    if not all(map(str.strip, titles)):
        for name in index.rows(Name):
            for id_ in name.chunk_ids:
                of_chunk[id_].append(name.name)
    for chunk, title in zip(chunks, titles, strict=True):
        yield _begin(chunk.text, () if title.strip() else of_chunk.get(chunk.id, ()))


def _begin(text: str, names: Sequence[str]) -> Annotation:
    matches = NameMatcher(dict.fromkeys(names)).find(text)[:1] if names else []
    phrases = tuple(Phrase(match.start, match.end, text[match.start : match.end], NAME) for match in matches)
    return Annotation(phrases, ())
