"""Names that stand for chunks which may be read, and the graph of these chunks and what they name."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from conspectus.pipelines.permitted.knowledge import Narrowed
from conspectus.pipelines.steps.walk_graph import Walk, name_chunks, walk_graph
from conspectus.storage.records import Chunk, Document, Name
from conspectus.storage.settings import NameSettings, WalkGraphSettings
from conspectus.storage.text.names import NameMatcher
from conspectus.storage.text.nlp import NAME, Annotation, Phrase


def walk_of(known: Narrowed, names: Iterable[Name], settings: NameSettings, graph: WalkGraphSettings) -> Walk:
    """Return the names that stand for chunks and the graph, made from these chunks alone as a build makes them.

    What an untitled text begins with is looked up in `names`, those of the whole index.
    """
    begins = _begins(known.documents, known.chunks, names)
    found, held_by = name_chunks(known.documents, known.chunks, begins, settings)
    return Walk(found, walk_graph(known.chunks, known.entities, known.mentions, found, held_by, graph))


def _begins(documents: Iterable[Document], chunks: Sequence[Chunk], names: Iterable[Name]) -> list[Annotation]:
    """Return, for each chunk of an untitled document, the name that it begins with where it has one."""
    untitled = {each.id for each in documents if not each.title.strip()}
    of_chunk: defaultdict[str, list[str]] = defaultdict(list)
    wanted = {each.id for each in chunks if each.document_id in untitled}
    for name in names:
        for id_ in name.chunk_ids:
            if id_ in wanted:
                of_chunk[id_].append(name.name)
    return [_begin(each.text, of_chunk.get(each.id, ())) for each in chunks]


def _begin(text: str, names: Sequence[str]) -> Annotation:
    matches = NameMatcher(dict.fromkeys(names)).find(text) if names else []
    phrases = tuple(Phrase(each.start, each.end, text[each.start : each.end], NAME) for each in matches[:1])
    return Annotation(phrases, ())
