"""A document without a sign has no link of that kind: the quick look misses none that the search finds."""

from conspectus.storage.structure.contents_lists import _entries, may_list
from conspectus.storage.structure.references import _REFERENCE, may_refer
from hypothesis import example, given
from hypothesis import strategies as st

WORDS = """section Sect. CHAPITRE appendices apéndice annexe anexo clause Abschnitten abschn. kapiteln Kap.
    anhang ziffer sección capítulo sezione capitolo §§ pages p. pp. Seiten S. página PAGıNA pág. see Siehe s. voir véase
    cf. RFC
    git-rebase(1) plan.xlsx a-b.c ſection \u212aap. zİffer 12 A 3.2 B.1 - . ... title ,""".split()
PIECES = (*WORDS, "“Night watch”", '"Night watch"', ". . .", ".\u00a0.", " ", "  ", "\n")


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
@example("see the “Night watch”")
@example("p. 7")
def test_no_reference_and_no_list_is_missed(text: str) -> None:
    if _REFERENCE.search(text):
        assert may_refer(text)
    if _entries(text):
        assert may_list(text)
