"""The parts of a question that asks for several things, in English, German, French and Spanish."""

import re
from functools import lru_cache

_ASKING = (
    "what|which|who(?:m|se)?|where|when|why|how|do(?:es)?|did|is|are|can|could|should|was|were|has|have"
    "|welche[rsmn]?|wer|we[mn]|wo|wann|warum|wie|womit|wodurch|woraus"
    "|que|quoi|qui|quel(?:le)?s?|où|quand|pourquoi|comment|combien"
    "|qué|quién(?:es)?|cuál(?:es)?|d[óo]nde|cu[áa]ndo|por qué|c[óo]mo|cu[áa]nt[oa]s?"
)
_LEADING = "in|on|at|to|from|with|for|of|by|since|mit|aus|an|auf|von|zu|seit|à|de|dans|en|avec|depuis|con|desde"
_BOUNDARY = re.compile(
    rf"[,;]?\s+(?:and|but|und|aber|et|mais|y|pero)\s+(?=(?:(?:{_LEADING})\s+)?(?:{_ASKING})\b)", re.IGNORECASE
)
_LEAST_WORDS = 3


@lru_cache(maxsize=1_000)
def parts_of(question: str) -> tuple[str, ...]:
    """Return the parts of a question, each a question; only the question itself where it asks for one thing.

    >>> parts_of("Who built the pier, and in which year was it opened?")
    ('Who built the pier', 'in which year was it opened?')
    >>> parts_of("Who built the pier and the gate?")
    ('Who built the pier and the gate?',)
    """
    parts = tuple(part.strip() for part in _BOUNDARY.split(question))
    return parts if all(len(part.split()) >= _LEAST_WORDS for part in parts) else (question,)
