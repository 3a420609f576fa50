"""What embedding will take where an endpoint does it."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conspectus.pipelines.backends.nlp import OfflineJudgement
from conspectus.pipelines.estimation.rehearsal import Corpus, Rehearsal
from conspectus.pipelines.estimation.tokens import server_tokens
from conspectus.pipelines.runner import RunHere
from conspectus.pipelines.steps.vectors import STAGE
from conspectus.prompts.client.usage import Spending
from conspectus.prompts.embedding.embedder import Embedder, open_embedder
from conspectus.prompts.embedding.endpoint import STEP
from conspectus.storage.hashing import digest
from conspectus.storage.memo import Memo
from conspectus.storage.settings import Settings
from conspectus.storage.text.embedded import chunk_text, entity_text, predicate_texts, relation_text, report_text

MOST_WITHOUT_MODEL = 60
"""Chunks that are annotated to see what an extraction without a model finds."""
_MOST_WINDOWED = 2000
"""Texts of a kind that are cut into windows; of more the rest is taken to be alike."""


@dataclass(frozen=True, slots=True)
class _Pending:
    """Texts that have no vector yet: how many, their tokens, and how many have one."""

    texts: float
    tokens: float
    remembered: float


def embedding(
    corpus: Corpus, rehearsed: Rehearsal, growth: float, settings: Settings, memo: Memo
) -> tuple[Spending, ...]:
    """Return what the endpoint is asked, nothing where none embeds.

    `growth` is how many times the rehearsed entities, relations and reports the corpus has.
    """
    if settings.embedding.provider != "endpoint":
        return ()
    embedder = open_embedder(settings.embedding, settings.embedding_server)
    document_of = {each.id: each for each in corpus.documents}
    chunks = [chunk_text(each, document_of[each.document_id]) for each in corpus.chunks]
    kinds = [
        (chunks, 1.0),
        *(
            (texts, growth)
            for texts in (rehearsed.entities, rehearsed.relations, rehearsed.predicates, rehearsed.reports)
        ),
    ]
    pending = [_pending(texts, times, embedder, settings.embedding.document_prefix, memo) for texts, times in kinds]
    size = settings.embedding_server.batch_size
    tokens = round(sum(each.tokens for each in pending))
    price = settings.embedding_server.price
    calls = sum(-(-round(each.texts) // size) for each in pending)
    dollars = None if price is None else tokens * price / 1_000_000
    remembered = round(sum(each.remembered for each in pending))
    return (
        Spending(
            STEP,
            settings.embedding.model,
            calls=calls,
            attempts=calls,
            remembered=remembered,
            prompt_tokens=tokens,
            cost=dollars,
        ),
    )


def _pending(texts: Sequence[str], times: float, embedder: Embedder, prefix: str, memo: Memo) -> _Pending:
    step = -(-len(texts) // _MOST_WINDOWED) or 1
    some = texts[::step]
    times *= len(texts) / len(some) if some else 1.0
    text_of = {digest(piece): piece for text in some for piece in embedder.windows(text)}
    missing = memo.missing(f"{STAGE} {embedder.name}", text_of)
    tokens = sum(server_tokens(prefix + text_of[key]) for key in missing)
    return _Pending(len(missing) * times, tokens * times, (len(text_of) - len(missing)) * times)


def without_model(corpus: Corpus, settings: Settings) -> tuple[Rehearsal, float]:
    """Return what an extraction without a model makes of some chunks, and how many times that the corpus has."""
    digests = sorted({digest(each.text) for each in corpus.chunks})
    some = corpus.part(digests[:: -(-len(digests) // MOST_WITHOUT_MODEL) or 1])
    with tempfile.TemporaryDirectory() as folder:
        judgement = OfflineJudgement(settings, Memo(Path(folder) / "memo.sqlite"), RunHere())
        found = judgement.find(some.documents, some.chunks)
        told = judgement.tell(some.documents, some.chunks, found, lambda relations: None)
    name_of = {each.id: each.name for each in told.entities}
    made = Rehearsal(
        (),
        tuple(entity_text(each) for each in told.entities),
        tuple(relation_text(each, name_of) for each in told.relations),
        tuple(predicate_texts(told.relations)),
        tuple(report_text(each) for each in told.reports),
    )
    return made, len(digests) / max(len(some.chunks), 1)
