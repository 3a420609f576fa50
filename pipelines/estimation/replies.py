"""Predict the records and tokens of a model's replies from cached replies.

The prior is from 84 recorded extractions of GPT-4o, two for each of 42 chunks of a story with 1,195 tokens on average
(`python benchmarks/estimate.py prior` measures it again). A quarter of the tokens gives half the records: in the same
text 600-token chunks find almost twice the entities of 2,400-token chunks (Edge et al. 2024, section 3.1.1). Cached
replies of the configured model replace the prior.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, floor, log

from conspectus.pipelines.steps.descriptions import SUMMARY_WORDS
from conspectus.pipelines.steps.reports.llm import FEWEST_FINDINGS, MOST_FINDINGS, MOST_WORDS
from conspectus.prompts.language_model import Reply, Request
from conspectus.prompts.replies.records import read_records
from conspectus.prompts.replies.typed import read_choice
from conspectus.storage.errors import BadAnswer
from conspectus.storage.settings import Settings
from conspectus.storage.text.normalise import entity_key
from conspectus.storage.text.regex_annotator import RegexAnnotator

_CHUNK_TOKENS, _CHUNK_NAMES = 1195.0, 27.0
"""Tokens of a recorded chunk, and distinct names that regular expressions find in it."""
_NO_NAMES = 2.2
"""Density of names assumed for a script without capitals, where names cannot be counted: the median of nine English
corpora, from essays (0.8) to an encyclopedia (2.4); `python benchmarks/estimate.py density ../shared/data`."""
_AS_GOOD = 2
"""This many observations have the weight of the prior."""
_TOKENS_A_WORD = 1.45
"""Tokens per word of JSON with prose."""
_WORD = 1.04
_GOLDEN = 0.6180339887498949
"""A constant whose multiples have evenly distributed fractional parts."""
_FINDINGS, _FINDINGS_PER_LOG = 4.4, 1.05
"""Findings of a report on n records are 4.4 + 1.05 ln n: fitted to the 122 reports of a GraphRAG index, which have 5.6
on four records, 7.2 on 15, and 9 on 93 (`python benchmarks/estimate.py prior`). A prompt asks for five at least."""
_LABEL = re.compile(r"^\[([SERC]\d+(?:\.\d+)?)\]", re.MULTILINE)
_PAIR = re.compile(r"^Pair \d+$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Observed:
    """A cached reply to a chunk, and our token count of its prompt."""

    request: Request
    reply: Reply
    prompt_tokens: float


@dataclass(frozen=True, slots=True)
class ReplyModel:
    """The expected replies of a model.

    Attributes:
        entities: Entities in the first reply to a chunk of `_CHUNK_TOKENS` with a usual number of names.
        relations: Relationships for each entity.
        record_tokens: Tokens of an entity or relationship record.
        other_tokens: Tokens of a reply that belong to no record.
        yes: Share of chunks for which the model says that it missed something.
        gleaned: Records of a gleaning per record of the first reply.
        claims: Claims in a chunk of `_CHUNK_TOKENS`.
        claim_tokens: Tokens of a claim.
        report_tokens: Tokens of a report; None to derive it from the number of its records.
        summary_tokens: Tokens of a summary of descriptions; None to derive it from the descriptions.
        prompt_ratio: Tokens of prompts counted by the server per token of our count.
        reply_ratio: The same for a reply.
    """

    entities: float = 9.3
    relations: float = 0.8
    record_tokens: float = 43.5
    other_tokens: float = 0.0
    yes: float = 0.45
    gleaned: float = 0.67
    claims: float = 9.7
    claim_tokens: float = 112.0
    report_tokens: float | None = None
    summary_tokens: float | None = None
    prompt_ratio: float = 1.0
    reply_ratio: float = 1.0

    def entities_in(self, text: str) -> float:
        """Return the expected number of entities in the first reply to a chunk."""
        size = server_tokens(text) / _CHUNK_TOKENS
        return float(self.entities * size**0.5 * density(text))

    def claims_in(self, text: str) -> float:
        """Return the expected number of claims in the reply to a chunk."""
        return float(self.claims * (server_tokens(text) / _CHUNK_TOKENS) ** 0.5)


def density(text: str) -> float:
    """Return the number of entities in a text relative to the recorded story, 0.4 to 2.5, from its distinct names."""
    if not _has_capitals(text):
        return _NO_NAMES
    usual = max(1.0, _CHUNK_NAMES * (server_tokens(text) / _CHUNK_TOKENS) ** 0.86)
    return float(min(max((len(names_in(text)) / usual) ** 0.8, 0.4), 2.5))


def learn(
    known: ReplyModel, observed: Sequence[Observed], later: Mapping[str, Sequence[Reply]], texts: Mapping[str, str]
) -> ReplyModel:
    """Return a reply model from cached replies, weighted with the prior.

    Args:
        known: The prior.
        observed: Cached replies to chunks.
        later: Cached replies of the later steps (`report`, `summarise`), by step.
        texts: Texts of the chunks by their digests.
    """
    of_step: dict[str, list[Observed]] = {}
    for seen in observed:
        of_step.setdefault(seen.request.step, []).append(seen)
    model = _of_extraction(known, of_step.get("extract", []), of_step.get("glean", []), texts)
    answers = [_says_yes(seen.reply) for seen in of_step.get("glean_check", [])]
    claims = of_step.get("claims", [])
    records = sum(len(read_records(seen.reply.text).claims) for seen in claims)
    expected = sum(known.claims_in(texts[seen.request.sources[0]]) for seen in claims)
    tokens = sum(server_tokens(seen.reply.text) for seen in claims)
    counted = [(seen.reply.prompt_tokens, seen.prompt_tokens) for seen in observed if not seen.reply.estimated]
    replies = [seen.reply for seen in observed] + [reply for step in later.values() for reply in step]
    written = [(reply.completion_tokens, server_tokens(reply.text)) for reply in replies if not reply.estimated]
    return replace(
        model,
        yes=_mixed(known.yes, sum(answers), len(answers), len(answers)),
        claims=known.claims * _mixed(1.0, records, expected, len(claims)),
        claim_tokens=_mixed(known.claim_tokens, tokens, records, len(claims)),
        report_tokens=_mean(later.get("report", ())),
        summary_tokens=_mean(later.get("summarise", ())),
        prompt_ratio=_mixed(1.0, sum(one for one, _ in counted), sum(other for _, other in counted), len(counted)),
        reply_ratio=_mixed(1.0, sum(one for one, _ in written), sum(other for _, other in written), len(written)),
    )


def certainty(observed: Sequence[Observed]) -> float:
    """Return the certainty of the reply model: 0 without cached replies, near 1 with many."""
    count = sum(seen.request.step == "extract" for seen in observed)
    return count / (count + _AS_GOOD)


def _of_extraction(
    known: ReplyModel, firsts: Sequence[Observed], gleaned: Sequence[Observed], texts: Mapping[str, str]
) -> ReplyModel:
    # Of a reply without records and its successor the latter counts.
    firsts = list({seen.request.sources[0]: seen for seen in firsts}.values())
    if not firsts:
        return known
    read = {seen.request.sources[0]: read_records(seen.reply.text) for seen in firsts}
    entities = sum(len(records.entities) for records in read.values())
    relations = sum(len(records.relations) for records in read.values())
    expected = sum(known.entities_in(texts[source]) for source in read)
    tokens = sum(server_tokens(seen.reply.text) for seen in firsts)
    # A reply without records has other text.
    other = 0.0 if entities + relations else tokens / len(firsts) * _mixed(0.0, 1, 1, len(firsts))
    before = [read[seen.request.sources[0]] for seen in gleaned if seen.request.sources[0] in read]
    after = [read_records(seen.reply.text) for seen in gleaned]
    return replace(
        known,
        entities=known.entities * _mixed(1.0, entities, expected, len(firsts)),
        relations=_mixed(known.relations, relations, entities, len(firsts)),
        record_tokens=_mixed(known.record_tokens, tokens, entities + relations, len(firsts)),
        other_tokens=other,
        gleaned=_mixed(
            known.gleaned,
            sum(len(records.entities) + len(records.relations) for records in after),
            sum(len(records.entities) + len(records.relations) for records in before),
            len(gleaned),
        ),
    )


def _mixed(known: float, seen: float, of: float, observations: int) -> float:
    """Return the mean of `seen / of` and the prior, weighted by the observations."""
    if not of:
        return known
    share = observations / (observations + _AS_GOOD)
    return share * seen / of + (1 - share) * known


def _mean(replies: Sequence[Reply]) -> float | None:
    return sum(server_tokens(reply.text) for reply in replies) / len(replies) if replies else None


def _says_yes(reply: Reply) -> bool:
    try:
        return read_choice(reply.text, ("Yes", "No")) == "Yes"
    except BadAnswer:
        return False


class SyntheticReplies:
    """Writes the expected reply to a request: records about the names of a chunk, reports that cite their records.

    Names in several chunks become one entity, and communities form around them, so that later steps make realistic
    calls. A reply depends on its request only.
    """

    def __init__(self, model: ReplyModel, settings: Settings, texts: Mapping[str, str]) -> None:
        """`texts` are the texts of the chunks by their digests."""
        self.model = model
        self._settings = settings
        self._texts = texts
        self._rank = {key: rank for rank, key in enumerate(sorted(texts))}

    def reply(self, request: Request) -> str:
        """Return a reply to a request of a step of indexing."""
        match request.step:
            case "extract" | "glean":
                return self._records(request, gleaned=request.step == "glean")
            case "glean_check":
                return json.dumps({"answer": "Yes" if self._spread(request) < self.model.yes else "No"})
            case "claims":
                return self._claims(request)
            case "claims_glean":
                return "<|COMPLETE|>"
            case "openie_ner":
                return json.dumps({"entities": self._names(request, self._count(request))}, ensure_ascii=False)
            case "openie_triples":
                names = self._names(request, self._count(request))
                return json.dumps({"triples": [[one, "is with", other] for one, other in _pairs(names, len(names))]})
            case "resolve":
                pairs = len(_PAIR.findall(_material(request)))
                return json.dumps({"votes": [{"pair": number, "same": False} for number in range(1, pairs + 1)]})
            case "report":
                return self._report(request)
            case _:
                return self._summary(request)

    def _records(self, request: Request, *, gleaned: bool) -> str:
        first = self._count(request)
        count = self._whole(first * self.model.gleaned, request) if gleaned else first
        names = self._names(request, first + count)
        found = names[first:] if gleaned else names[:first]
        pairs = _pairs([*names[:1], *found] if gleaned else found, self._whole(count * self.model.relations, request))
        seed = self._rank[request.sources[0]] * 1_000 + 500 * gleaned
        rows = [self._record("entity", (name, "person"), seed + place) for place, name in enumerate(found)]
        rows += [self._record("relationship", pair, seed + 250 + place) for place, pair in enumerate(pairs)]
        return "\n".join([_filler(self.model.other_tokens, seed), "##\n".join([*rows, "<|COMPLETE|>"])]).strip()

    def _record(self, kind: str, fields: Sequence[str], seed: int) -> str:
        head = "<|>".join(f'"{field}"' for field in (kind, *fields))
        said = _filler(self.model.record_tokens - server_tokens(head) - 5, seed)
        return f'({head}<|>"{said}"{"" if kind == "entity" else "<|>5"})'

    def _claims(self, request: Request) -> str:
        count = self._whole(self.model.claims_in(self._texts[request.sources[0]]), request)
        seed = self._rank[request.sources[0]] * 1_000 + 750
        rows = []
        for place, name in enumerate(self._names(request, count)):
            head = f'("claim"<|>"{name}"<|>"NONE"<|>"claim"<|>"TRUE"<|>"NONE"<|>"NONE"<|>"'
            said = _filler((self.model.claim_tokens - server_tokens(head) - 5) / 2, seed + place)
            rows.append(f'{head}{said}"<|>"{said}")')
        return "##\n".join([*rows, "<|COMPLETE|>"])

    def _report(self, request: Request) -> str:
        """Return a report: 135 tokens and 103 per finding (as recorded), with two records each.

        Most of a report is the model's own words, so that one on few records is hardly shorter than they are.
        """
        labels = _LABEL.findall(prompt := _material(request))
        expected = _FINDINGS + _FINDINGS_PER_LOG * log(max(1, len(labels)))
        findings = min(max(round(expected), FEWEST_FINDINGS), MOST_FINDINGS)
        wanted = self.model.report_tokens or min(135 + findings * 103, MOST_WORDS * _TOKENS_A_WORD)
        part = max(4.0, wanted / (findings + 1) - 30)
        return json.dumps(
            {
                "title": _filler(5, len(prompt)),
                "summary": _filler(part, len(prompt)),
                "rating": 5.0,
                "rating_explanation": _filler(min(20.0, part / 2), len(prompt)),
                "findings": [
                    {
                        "summary": _filler(part / 5, place),
                        "explanation": _filler(part * 4 / 5, len(prompt) + place),
                        "records": labels[place * 2 : place * 2 + 2] or labels[:1],
                    }
                    for place in range(findings)
                ],
            }
        )

    def _summary(self, request: Request) -> str:
        """Return a summary: 0.6 of its input, or at most three quarters of the requested words."""
        prompt = _material(request)
        given = server_tokens(prompt)
        most = SUMMARY_WORDS * _TOKENS_A_WORD * 0.75
        tokens = self.model.summary_tokens or min(given * 0.6, most)
        return json.dumps({"description": _filler(tokens - 5, len(prompt))})

    def _count(self, request: Request) -> int:
        return self._whole(self.model.entities_in(self._texts[request.sources[0]]), request)

    def _names(self, request: Request, count: int) -> list[str]:
        """Return names of a text, most frequent first, filled up with invented names that texts share."""
        own = names_in(self._texts[request.sources[0]])[:count]
        things = max(2, len(self._texts) * 4)
        drawn = [self._rank[request.sources[0]] * 31 + place * 17 + 5 for place in range(count - len(own))]
        # A few names are frequent (Zipf's law), as in real corpora.
        return list(dict.fromkeys([*own, *(f"Thing {int(things ** (number * _GOLDEN % 1.0))}" for number in drawn)]))

    def _whole(self, expected: float, request: Request) -> int:
        """Return an integer whose mean over many requests is `expected`."""
        return floor(expected + self._spread(request))

    def _spread(self, request: Request) -> float:
        return self._rank[request.sources[0]] * _GOLDEN % 1.0


def _material(request: Request) -> str:
    """Return the first message of the user, which contains the records, pairs or descriptions of a request."""
    return next(message.content for message in request.messages if message.role == "user")


def _pairs(names: Sequence[str], wanted: int) -> list[tuple[str, str]]:
    """Return pairs of names: half with the first, most frequent name, half of neighbours."""
    others = names[1:]
    pairs = []
    for place in range(min(wanted, 2 * len(others))):
        at = place % len(others)
        near = others[at - 1] if place % 2 and len(others) > 1 else names[0]
        if near != others[at]:
            pairs.append((near, others[at]))
    return pairs


def _filler(tokens: float, seed: int) -> str:
    """Return words of about `tokens` tokens; each seed gives another text."""
    return " ".join(["word"] * (round(tokens / _WORD) - 1) + [str(seed % 1_000_000)]) if tokens >= 1 else ""


@lru_cache(1 << 14)
def names_in(text: str) -> tuple[str, ...]:
    """Return the distinct names that regular expressions find in a text, the most frequent first."""
    phrases = sorted(RegexAnnotator().annotate(text).phrases, key=lambda phrase: phrase.start)
    counts = Counter(entity_key(phrase.text) for phrase in phrases)
    first: dict[str, str] = {}
    for phrase in phrases:
        first.setdefault(entity_key(phrase.text), " ".join(phrase.text.split()))
    return tuple(first[key] for key, _ in counts.most_common())


def _has_capitals(text: str) -> bool:
    """Return whether most letters are of a script with capitals, so that names can be recognised."""
    letters = [sign for sign in text if sign.isalpha()]
    return 2 * sum(sign.lower() != sign.upper() for sign in letters) > len(letters)


_KINDS = re.compile(
    r"([A-Za-z]+)|([0-9]+)|([\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])|([\uac00-\ud7af])"
    r"|([^\W\d_]+)|([^\w\s]+|_+|\S)"
)


def server_tokens(text: str) -> float:
    """Return the approximate number of tokens of a text without its tokenizer.

    The weight of each kind of character approximates the o200k encoding of GPT-4o; `python benchmarks/estimate.py
    tokens` compares the two.

    >>> server_tokens("Toto barked.")
    3.08
    """
    return round(sum(_tokens_of_line(line) for line in text.split("\n")), 4)


@lru_cache(1 << 16)
def _tokens_of_line(line: str) -> float:
    """Return the tokens of a line, cached: prompts repeat their lines."""
    total = 0.0
    for run in _KINDS.finditer(line):
        length = run.end() - run.start()
        match run.lastindex:
            case 1:
                total += _WORD + max(0, length - 6) * 0.06  # a Latin word
            case 2:
                total += ceil(length / 3)  # digits
            case 3:
                total += 0.92  # a Han character; DeepSeek's documentation says 0.6
            case 4:
                total += 0.65  # a Hangul syllable
            case 5:
                total += max(1.0, length / 3.0)  # letters of another script
            case _:
                total += ceil(length / 1.7)  # punctuation
    return total
