"""Replies as a model might give them: records about the names of a chunk, as many and as long as its habits say.

They are made so that what follows from them is asked as in a real build: names that stand in several chunks are one
entity, communities form around them, and reports cite the records of their prompts. Every reply depends on its
request and the habits only.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor

from conspectus.pipelines.estimation.habits import Habits
from conspectus.pipelines.estimation.names import has_capitals, names_in
from conspectus.pipelines.estimation.tokens import server_tokens
from conspectus.prompts.model import Request
from conspectus.storage.settings import DescriptionSettings, ReportSettings

_GOLDEN = 0.6180339887498949
"""Its multiples without their whole parts are spread evenly however many there are: shares come out right early."""
_WORDS = (
    "the a of and in to from with over under near old new small large north south river valley mill bridge market "
    "garden winter summer letter paper clock baker miller clerk captain teacher council county museum ledger survey "
    "moved opened closed made wrote led kept found gave took early later often again first second third forty short"
).split()
_WORD_TOKENS = 1.04
_LABEL = re.compile(r"^\[([SERC]\d+(?:\.\d+)?)\]", re.MULTILINE)
_PAIR = re.compile(r"^Pair \d+$", re.MULTILINE)
_ENTITY_FRAME, _RELATION_FRAME, _CLAIM_FRAME = 16.0, 18.0, 38.0
"""Tokens of a record without its names and its description."""


@dataclass(frozen=True, slots=True)
class MadeUp:
    """Makes replies up. `texts` are the chunks' texts by their digests."""

    habits: Habits
    descriptions: DescriptionSettings
    reports: ReportSettings
    texts: Mapping[str, str]
    rank_of: Mapping[str, int]

    def reply(self, request: Request) -> str:
        """Return what the model might say to a request of a step of indexing."""
        match request.step:
            case "extract":
                return self._records(request, gleaned=False)
            case "glean":
                return self._records(request, gleaned=True)
            case "glean_more":
                yes = self._spread(request) < self.habits.yes
                return json.dumps({"answer": "Yes" if yes else "No"})
            case "claims":
                return self._claims(request)
            case "resolve":
                pairs = len(_PAIR.findall(request.messages[0].content))
                return json.dumps({"votes": [{"pair": place, "same": False} for place in range(1, pairs + 1)]})
            case "report":
                return self._report(request)
            case _:
                return self._summary(request)

    def _rank(self, request: Request) -> int:
        return self.rank_of[request.sources[0]]

    def _spread(self, request: Request) -> float:
        return (self._rank(request) * _GOLDEN) % 1.0

    def _records(self, request: Request, *, gleaned: bool) -> str:
        text, habits = self.texts[request.sources[0]], self.habits
        names = names_in(text)
        expected = habits.entities_of(server_tokens(text), len(names) if has_capitals(text) else None)
        first = self._whole(expected, request)
        count = self._whole(expected * habits.gleaned, request) if gleaned else first
        chosen = [*names, *self._invented(request, len(names), first + count)]
        found = chosen[first : first + count] if gleaned else chosen[:first]
        entities = [_entity(name, habits.entity_tokens, self._seed(request, place)) for place, name in enumerate(found)]
        related = self._whole(count * habits.relations_an_entity, request)
        pairs = _pairs(chosen[0], found if gleaned else found[1:], related) if chosen else []
        relations = [
            _relation(one, other, habits.relation_tokens, self._seed(request, place + 97))
            for place, (one, other) in enumerate(pairs)
        ]
        beside = [filler(habits.beside_records, self._rank(request))] if habits.beside_records >= 1 else []
        return "\n".join([*beside, "##\n".join([*entities, *relations, "<|COMPLETE|>"])])

    def _claims(self, request: Request) -> str:
        text, habits = self.texts[request.sources[0]], self.habits
        count = self._whole(habits.claims_of(server_tokens(text)), request)
        names = [*names_in(text), *self._invented(request, 0, count)]
        said = [_claim(names[place], habits.claim_tokens, self._seed(request, place + 193)) for place in range(count)]
        return "##\n".join([*said, "<|COMPLETE|>"])

    def _report(self, request: Request) -> str:
        labels = _LABEL.findall(request.messages[0].content)
        wanted = self.habits.report_tokens(len(labels), self.reports)
        findings = max(1, min(self.reports.findings, 1 + len(labels) // 2, int(wanted // 60)))
        each = max(1.0, wanted / (findings + 1) - 30)
        seed = len(request.messages[0].content)
        return json.dumps(
            {
                "title": filler(5, seed),
                "summary": filler(max(4.0, each - 5), seed + 1),
                "rating": 5.0,
                "rating_explanation": filler(min(20.0, each / 2), seed + 2),
                "findings": [
                    {
                        "summary": filler(each / 5, seed + 3 * place),
                        "explanation": filler(each * 4 / 5, seed + 5 * place),
                        "records": labels[place * 2 : place * 2 + 2] or labels[:1],
                    }
                    for place in range(findings)
                ],
            }
        )

    def _summary(self, request: Request) -> str:
        given = server_tokens(request.messages[0].content.partition("Descriptions:")[2])
        return filler(self.habits.summary_tokens(given, self.descriptions), len(request.messages[0].content))

    def _whole(self, expected: float, request: Request) -> int:
        """Return a whole number, over many requests `expected` on average."""
        return floor(expected + self._spread(request))

    def _seed(self, request: Request, place: int) -> int:
        return self._rank(request) * 13 + place * 7

    def _invented(self, request: Request, known: int, wanted: int) -> list[str]:
        """Return names for the entities that have none in the text, drawn so that few are met often (Zipf's law)."""
        pool = max(2, len(self.texts) * 4)
        drawn = [((self._rank(request) * 31 + place * 17 + 5) * _GOLDEN) % 1.0 for place in range(wanted - known)]
        return list(dict.fromkeys(f"Thing {int(pool**each)}" for each in drawn))


def _pairs(hub: str, others: Sequence[str], wanted: int) -> list[tuple[str, str]]:
    """Return pairs among names, half of them with the one that a text is most about, half with a neighbour."""
    pairs = []
    for place in range(min(wanted, 2 * len(others))):
        other = others[place % len(others)]
        near = others[place % len(others) - 1] if place % 2 and len(others) > 1 else hub
        if near != other:
            pairs.append((near, other))
    return pairs


def filler(tokens: float, seed: int) -> str:
    """Return words about nothing that a server makes about `tokens` tokens of; another text for another seed."""
    count = max(1, round(tokens / _WORD_TOKENS))
    start = seed * 5
    said = (_WORDS[(start + place * (1 + seed % 5)) % len(_WORDS)] for place in range(count - 1))
    return " ".join([*said, str(seed % 997)])


def _entity(name: str, tokens: float, seed: int) -> str:
    said = filler(tokens - _ENTITY_FRAME - server_tokens(name), seed)
    return f'("entity"<|>"{name}"<|>"person"<|>"{said}")'


def _relation(source: str, target: str, tokens: float, seed: int) -> str:
    said = filler(tokens - _RELATION_FRAME - server_tokens(source) - server_tokens(target), seed)
    return f'("relationship"<|>"{source}"<|>"{target}"<|>"{said}"<|>5)'


def _claim(name: str, tokens: float, seed: int) -> str:
    half = max(4.0, (tokens - _CLAIM_FRAME - server_tokens(name)) / 2)
    return (
        f'("claim"<|>"{name}"<|>"NONE"<|>"claim"<|>"TRUE"<|>"NONE"<|>"NONE"<|>"{filler(half, seed)}"<|>'
        f'"{filler(half, seed + 1)}")'
    )
