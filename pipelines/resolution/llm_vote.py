"""A language model's vote on pairs of names that the rules leave open."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from conspectus.pipelines.resolution.evidence import Located
from conspectus.pipelines.resolution.features import Names
from conspectus.pipelines.resolution.rules import NamePair
from conspectus.pipelines.runner import Progress
from conspectus.prompts.client.event_loop import gather_settled
from conspectus.prompts.client.window import window_for
from conspectus.prompts.language_model import LanguageModel, Request
from conspectus.prompts.render import messages
from conspectus.prompts.replies.structured import ExchangeResult, Usability, ask_for, least_lost
from conspectus.storage.errors import BadAnswer, ModelError
from conspectus.storage.hashing import digest
from conspectus.storage.records import Failure
from conspectus.storage.text.sentences import sentence_spans
from pydantic import BaseModel

STAGE = "resolve"
YES, NO = "yes", "no"

_PAIRS_A_CALL = 10
_ONE_IN = 6
DOUBT, SURE = 0.45, 0.9  # scores between which a vote can merge what rules would not, or undo it
_SENTENCES = 2
_SENTENCE_CHARACTERS = 300
_NAME_CHARACTERS = 200
_KEPT = 4096


class PairVote(BaseModel):
    """A model's vote on one pair."""

    pair: int
    why: str = ""
    same: bool


class Votes(BaseModel):
    """A model's votes on the pairs of a prompt."""

    votes: list[PairVote]


async def voted(
    pairs: Sequence[NamePair],
    names: Names,
    model: LanguageModel,
    progress: Progress,
) -> tuple[list[NamePair], list[Failure]]:
    """Return the pairs rescored by a model's votes, and a failure for each missing vote.

    Pairs with a score from `DOUBT` up to `SURE` are put to the vote, up to ten per call, ordered by name. A yes raises
    the score to `SURE`, a no sets it to 0; a pair without a vote keeps its score.
    """
    open_ = [candidate for candidate in pairs if DOUBT <= candidate.score < SURE and not candidate.explicit]
    open_.sort(key=lambda item: (sorted((names[item.left].name, names[item.right].name)), item.reason))
    batches = list(_batches(open_, names))
    shown = _Shown(names)
    progress("vote on names", 0, len(batches))
    done = 0
    usability, running = Usability(), asyncio.Semaphore(window_for(model, STAGE).slots or len(batches) or 1)

    async def ask(batch: Sequence[NamePair]) -> dict[int, bool]:
        nonlocal done
        try:
            async with running:
                if why := usability.why_not:
                    raise BadAnswer(why, "")
                said = await _ask(batch, shown, model)
            usability.usable += 1
            return said
        except BadAnswer:
            usability.unusable += 1
            raise
        finally:
            done += 1
            progress("vote on names", done, len(batches))

    replies = await gather_settled(ask(batch) for batch in batches)
    decided: dict[NamePair, NamePair] = {}
    failures: set[Failure] = set()
    for batch, reply in zip(batches, replies, strict=True):
        said, why = ({}, str(reply)) if isinstance(reply, ModelError) else (reply, "the reply leaves the pair out")
        for number, pair in enumerate(batch, 1):
            if number in said:
                score, vote = (SURE, YES) if said[number] else (0.0, NO)
                decided[pair] = replace(pair, score=score, vote=vote)
            else:
                failures.add(Failure(STAGE, pair.left, "no vote on whether two names are one thing's", why))
    return [decided.get(pair, pair) for pair in pairs], sorted(failures, key=lambda each: (each.item_id, each.detail))


def _batches(pairs: Sequence[NamePair], names: Names) -> Iterator[list[NamePair]]:
    """Yield the pairs in order, in batches of up to ten.

    Batch boundaries depend on the names of a batch's first pair, so that a new pair changes only the prompt of its own
    batch, and cached replies to the others remain valid.
    """
    batch: list[NamePair] = []
    for candidate in pairs:
        ends = sorted((names[candidate.left].name, names[candidate.right].name))
        if batch and (len(batch) == _PAIRS_A_CALL or int(digest(*ends)[:8], 16) % _ONE_IN == 0):
            yield batch
            batch = []
        batch.append(candidate)
    if batch:
        yield batch


async def _ask(batch: Sequence[NamePair], shown: "_Shown", model: LanguageModel) -> dict[int, bool]:
    prompt = messages(
        "index/resolve", pairs="\n\n".join(shown.pair(number, item) for number, item in enumerate(batch, 1))
    )
    request = Request(prompt, STAGE, sources=shown.sources(batch))

    async def exchange(model: LanguageModel) -> ExchangeResult[dict[int, bool]]:
        answer = await ask_for(model, request, Votes)
        said: dict[int, bool] = {}
        for vote in answer.votes:
            if 1 <= vote.pair <= len(batch):
                # A pair with contradicting votes counts as unanswered.
                said[vote.pair] = said.get(vote.pair, vote.same) and vote.same
        if not said:
            raise BadAnswer("no vote on any of the pairs", answer.model_dump_json())
        return ExchangeResult(said, len(said), len(batch) - len(said))

    return await least_lost(model, exchange)


class _Shown:
    """The content of the prompt about names: their types, and sentences from the first chunks that mention them."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._digest_of = lru_cache(_KEPT)(lambda chunk: digest(names.evidence.chunk_texts[chunk]))

    def pair(self, number: int, pair: NamePair) -> str:
        """Return the text of a pair, its names in alphabetical order."""
        names = sorted((pair.left, pair.right), key=lambda id_: (self._names[id_].name, id_))
        return "\n".join([f"Pair {number}", *(self._name(id_) for id_ in names)])

    def sources(self, batch: Sequence[NamePair]) -> tuple[str, ...]:
        """Return the digests of the chunks that the pairs' texts quote."""
        ids = {id_ for candidate in batch for id_ in (candidate.left, candidate.right)}
        return tuple(sorted({self._digest_of(mention.chunk) for id_ in ids for mention in self._mentions(id_)}))

    def _mentions(self, id_: str) -> list[Located]:
        evidence = self._names.evidence
        found = evidence.located(evidence.mentions(self._names[id_].row, aliases=True))
        return sorted(found, key=lambda item: (item.start < 0, self._digest_of(item.chunk), max(item.start, 0)))

    def _name(self, id_: str) -> str:
        name = self._names[id_]
        lines = [f"- {' '.join(name.name.split())[:_NAME_CHARACTERS]} ({', '.join(name.types)})"]
        said: dict[str, None] = {}
        for mention in self._mentions(id_):
            if len(said) < _SENTENCES:
                said.setdefault(self._sentence(mention))
        return "\n".join([*lines, *(f"  {sentence}" for sentence in said if sentence)])

    def _sentence(self, mention: Located) -> str:
        text, at = self._names.evidence.chunk_texts[mention.chunk], max(mention.start, 0)
        start, end = next((span for span in sentence_spans(text) if span[0] <= at < span[1]), (0, len(text)))
        start = max(start, at - _SENTENCE_CHARACTERS // 2)
        return " ".join(text[start : min(end, start + _SENTENCE_CHARACTERS)].split())
