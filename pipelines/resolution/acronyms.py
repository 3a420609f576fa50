"""Short forms by initial letters: NASA and National Aeronautics and Space Administration."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from conspectus.pipelines.resolution.candidate_pair import Pair, pair_of
from conspectus.pipelines.resolution.features import Known
from conspectus.pipelines.resolution.parsed_name import Form
from conspectus.pipelines.resolution.wordlists import SMALL_WORDS

_MOST_WORDS = 12


def acronyms(known: Sequence[Known]) -> Iterator[Pair]:
    """Yield each acronym with the names whose initials it has.

    Where several long names have them and stand in its documents, none is told apart, and none is sure.
    """
    short = [each for each in known if each.form.is_acronym and len(each.form.letters) > 2 and not each.form.ranks]
    wanted = {each.form.letters for each in short}
    long: defaultdict[str, list[Known]] = defaultdict(list)
    for each in known:
        if 2 <= len(each.form.words) <= _MOST_WORDS:
            for letters in initials(each.form) & wanted:
                long[letters].append(each)
    for one in short:
        found = [each for each in long[one.form.letters] if each.kinds != {"person"} and _capitalised(each.form)]
        groups = {each.form.words for each in found}
        near = [each for each in found if each.documents.keys() & one.documents.keys()]
        for each in found:
            beside = each in near
            alone = len(groups) == 1 or (beside and len({other.form.words for other in near}) == 1)
            if alone and beside:
                score = 0.85
            elif alone:
                score = 0.78 if len(one.form.letters) >= 4 else 0.62
            else:
                score = 0.45
            yield pair_of(one.id, each.id, "its initial letters", score)


def initials(form: Form) -> set[str]:
    """Return the acronyms of a name: with and without its small words, a numeral whole.

    >>> from conspectus.pipelines.resolution.parsed_name import form_of
    >>> sorted(initials(form_of("World War II"))), sorted(initials(form_of("Bank of England")))
    (['wwii'], ['be', 'boe'])
    """
    words = form.words
    numeral = words[-1] if form.numbers and len(words) > 2 and words[-1].isalpha() else ""
    plain = words[:-1] if numeral else words
    every = "".join(word[0] for word in plain) + numeral
    main = "".join(word[0] for word in plain if word not in SMALL_WORDS) + numeral
    return {each for each in (every, main) if len(each) > 1}


def abbreviates(short: Form, long: Form) -> bool:
    """Return whether a short form beside a long one may be made of its letters: each in order, the first first."""
    if not short.is_acronym or len(long.words) < 2:
        return False
    letters, text = short.letters, "".join(long.words)
    if initials(long) & {letters}:
        return True
    starts = {0}
    for word in long.words[:-1]:
        starts.add(max(starts) + len(word))
    at = -1
    hits = 0
    for sign in letters:
        at = text.find(sign, at + 1)
        if at < 0:
            return False
        hits += at in starts
    return letters[0] == text[0] and 2 * hits >= len(letters)


def _capitalised(form: Form) -> bool:
    return all(word[:1].isupper() for word in form.surfaces if word.casefold() not in SMALL_WORDS)
