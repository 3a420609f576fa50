"""English words that hold a question together and do not say what it is about."""

ASKING = frozenset("what when where which who whom whose why how".split())
"""The words that ask."""

FUNCTION_WORDS = ASKING | frozenset(
    """a an and are as at be been being but by can could did do does for from had has have he her him his i if in into
    is it its me my no not of on or our she so such than that the their them then there these they this to too was we
    were will with would you your also both 's""".split()
)
"""Articles, pronouns, prepositions, conjunctions, auxiliaries, and the words that ask."""

REQUESTS = frozenset("name names please tell list give".split())
"""What a question may open with where it does not ask."""

PARTICLES = frozenset(
    """about above after again all any before below between down during each few here just more most now off once only
    out over own some under until up very while""".split()
)
"""Adverbs, and prepositions that say where or when: by themselves they name nothing, though they may say much."""
