"""A part of a name for a place or a thing: "Marrow" for "Marrow, Vey", "Lion" for "Cowardly Lion"."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from conspectus.pipelines.resolution.candidate_pair import Pair, pair_of
from conspectus.pipelines.resolution.features import Known, share_of_documents
from conspectus.pipelines.resolution.name_index import Names
from conspectus.pipelines.resolution.wordlists import NO_FIRST_NAMES
from conspectus.storage.text.normalise import entity_key

_OFTEN = 3
"""Chunks from which on a word that is no person's name counts as one."""


def places(known: Sequence[Known]) -> Iterator[Pair]:
    """Yield "Marrow" with "Marrow, Vey" where no other Marrow is near."""
    qualified: defaultdict[str, list[Known]] = defaultdict(list)
    for each in known:
        if _is_qualified(each) and not _is_persons(each):
            qualified[_before_comma(each)].append(each)
    for short in known:
        form = short.form
        if form.after_comma or form.qualifier or form.ranks or _is_persons(short) or short.titles:
            continue
        found = qualified.get(entity_key(" ".join(form.surfaces)), ())
        near = [each for each in found if each.documents.keys() & short.documents.keys()]
        if len({each.form.words for each in near}) == 1:
            for each in near:
                if share_of_documents(short, each) == 1:
                    reason = "the place without what it lies in; its documents name no other"
                    yield pair_of(short.id, each.id, reason, 0.8)


def _is_persons(each: Known) -> bool:
    return "person" in each.kinds and each.form.words[0] not in NO_FIRST_NAMES


def _before_comma(each: Known) -> str:
    return entity_key(" ".join(each.form.surfaces[: len(each.form.words) - len(each.form.after_comma)]))


def _is_qualified(each: Known) -> bool:
    words = each.form.words
    return bool(each.form.after_comma) and len(words) > len(each.form.after_comma) and not {"and", "of"} & set(words)


def thing(short: Known, names: Names) -> Iterator[Pair]:
    """Yield "Lion" with "Cowardly Lion", where its documents have no other name with that word in it."""
    word = short.form.words[0]
    held = [each for each in names.holding.get(word, ()) if each.documents.keys() & short.documents.keys()]
    most = max((each.entity.frequency for each in held), default=0)
    held = [each for each in held if each.entity.frequency > 1 or most < _OFTEN]  # what a recogniser cut wrongly
    if len({each.form.words for each in held}) != 1 or short.form.ranks or short.form.epithets:
        return
    for long in held:
        often = min(short.entity.frequency, long.entity.frequency) >= _OFTEN
        if often and _is_head(word, long) and share_of_documents(short, long) == 1:
            reason = "its main word alone; its documents have no other name with that word"
            yield pair_of(short.id, long.id, reason, 0.77, short=short.id)


def _is_head(word: str, long: Known) -> bool:
    """Return whether a word is what a name of two words says its bearer is."""
    form = long.form
    if form.after_comma or form.numbers or form.form is not None or long.titles or form.surfaces[0][:1].islower():
        return False
    return len(form.words) == 2 and form.words[1] == word
