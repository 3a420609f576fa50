"""How a model answers the prompts of indexing: how much it finds, and how long it writes.

What is known beforehand is measured on real replies; `python benchmarks/estimate.py prior` measures it again. What
the memo holds of the model at hand takes its place (see observed.py).
"""

import math
from dataclasses import dataclass, replace

from conspectus.storage.settings import DescriptionSettings, ReportSettings

ANCHOR_TOKENS = 1195.0
"""Tokens of the chunks that the recorded replies were made from: *A Christmas Carol* in 42 chunks of up to 1,200."""

_SIZE_POWER = 0.5
"""A chunk of a quarter of the tokens gives half the records: 600-token chunks find almost twice the entities that
2,400-token ones do in the same text (Edge et al. 2024, section 3.1.1)."""
_ANCHOR_NAMES = 27.0
_NAMES_POWER = 0.86
"""Distinct names that the regular expressions find in a chunk of the story: 27 in 1,195 tokens, fewer in a shorter
one by this power of its length."""
_DENSITY_POWER = 0.8
"""How far names tell of entities: 0 would be not at all, 1 in proportion. A judgement, like the density of texts
without capitals and the records of a finding below: chosen in sight of the runs of benchmarks/estimate.py, no law."""
_LEAST_DENSITY, _MOST_DENSITY = 0.4, 2.5
_UNKNOWN_DENSITY = 1.4
"""Where names cannot be told from other words: between the story (1) and an encyclopedia (2.4)."""

_HEAD_TOKENS = 135.0
_FINDING_TOKENS = 103.0
"""A report without its findings, and one finding with the numbers of its records (recorded: 95 without)."""
_RECORDS_A_FINDING = 2
_TOKENS_A_WORD = 1.45
"""Of JSON that holds prose."""
_SUMMARY_FILLS = 0.75
"""Share of `descriptions.summary_words` that a summary takes."""
_SUMMARY_KEEPS = 0.6
"""Share of what it sums up that it keeps, where that is less."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The mean of what was observed, and how much it counts beside what is known beforehand (0 to 1)."""

    mean: float = 0.0
    share: float = 0.0

    def beside(self, known: float) -> float:
        """Return what to expect where `known` is what one would expect without."""
        return self.mean * self.share + known * (1 - self.share)


@dataclass(frozen=True, slots=True)
class Habits:
    """What a model says. Counts of records are those of a first reply to a chunk of `ANCHOR_TOKENS`.

    Recorded: 84 extractions of GPT-4o, two to each of 42 chunks (a first reply and a gleaning): 654 entities and 520
    relationships; of the two replies the longer has 60 % of the tokens. Claims: Microsoft's own index of the same
    story, 406 in 42 chunks. Whether a model says yes when asked if it missed something is recorded nowhere: `yes`
    is the value with which the calls are wrong by the same factor whether it always does or never does.
    `beside_records` are the tokens of a reply that belong to no record; `prompt_tokens` and `completion_tokens` are
    those of the server for one of ours.
    """

    entities: float = 9.3
    relations_an_entity: float = 0.8
    entity_tokens: float = 43.0
    relation_tokens: float = 44.0
    yes: float = 0.45
    gleaned: float = 0.67
    claims: float = 9.7
    claim_tokens: float = 112.0
    beside_records: float = 0.0
    report_scale: float = 1.0
    summary_scale: float = 1.0
    report: Seen = Seen()
    summary: Seen = Seen()
    prompt_tokens: float = 1.0
    completion_tokens: float = 1.0

    def entities_of(self, tokens: float, names: int | None) -> float:
        """Return how many entities a first reply holds, for a chunk with its tokens and distinct names (if known)."""
        expected = self.entities * math.pow(tokens / ANCHOR_TOKENS, _SIZE_POWER)
        if names is None:
            return expected * _UNKNOWN_DENSITY
        usual = max(1.0, _ANCHOR_NAMES * math.pow(tokens / ANCHOR_TOKENS, _NAMES_POWER))
        density = min(max(math.pow(names / usual, _DENSITY_POWER), _LEAST_DENSITY), _MOST_DENSITY)
        return expected * density

    def claims_of(self, tokens: float) -> float:
        """Return how many claims a reply holds."""
        return self.claims * math.pow(tokens / ANCHOR_TOKENS, _SIZE_POWER)

    def report_tokens(self, records: int, settings: ReportSettings) -> float:
        """Return the tokens of a report on so many records."""
        findings = min(settings.findings, 1 + records // _RECORDS_A_FINDING)
        known = min(_HEAD_TOKENS + findings * _FINDING_TOKENS, settings.max_words * _TOKENS_A_WORD)
        return self.report.beside(known * self.report_scale)

    def summary_tokens(self, tokens: float, settings: DescriptionSettings) -> float:
        """Return the tokens of a summary of descriptions of so many tokens."""
        known = min(tokens * _SUMMARY_KEEPS, settings.summary_words * _TOKENS_A_WORD * _SUMMARY_FILLS)
        return self.summary.beside(known * self.summary_scale)


_CERTAIN = 0.5
"""How far many observed replies take the doubt away: what they do not tell is how the rest of the corpus differs."""


def bounds(habits: Habits, certain: float) -> tuple[Habits, Habits]:
    """Return the habits of a terse and of a wordy model, nearer to each other the more is `certain` (0 to 1)."""

    def wide(factor: float) -> float:
        return math.pow(factor, 1 - _CERTAIN * certain)

    def to(bound: float) -> float:
        return bound + (habits.yes - bound) * _CERTAIN * certain

    def scaled(factor: float, yes: float) -> Habits:
        return replace(
            habits,
            entities=habits.entities * wide(factor),
            claims=habits.claims * wide(factor),
            yes=to(yes),
            report_scale=habits.report_scale * wide(factor),
            summary_scale=habits.summary_scale * wide(factor),
        )

    return scaled(0.6, 0.0), scaled(1.6, 1.0)
