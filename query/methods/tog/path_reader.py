"""What a document says behind a path: triples lead to a thing, and a sentence about it answers what they leave open.

So ToG-2 answers from both where it has no model: as in the paper the clue, what of the question the path has not
matched and the name that it has come to, is what the documents are read for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from conspectus.query.citations.numbered import Citations
from conspectus.query.context import Context
from conspectus.query.methods.tog.beam import Branch, hops_to
from conspectus.query.methods.tog.evidence import open_chunks
from conspectus.query.methods.tog.log import Found, Record
from conspectus.query.reader.extractive import Quote, choose, quotes_for, unsupported, word_weights
from conspectus.query.reader.short_answer import short_answer
from conspectus.query.types import Answer, Evidence, Say, Step, Usage
from conspectus.query.walk.graph import KnowledgeGraph, sentence, spoken
from conspectus.query.walk.provenance import open_grounds
from conspectus.storage.text.names import words

_MOST_ALIKE = 3
"""Paths to more things than these are not read behind: nothing says which of them is meant."""
_PASSAGES = 5
"""Passages about a thing that are read, those nearest to the clue."""
_LEAST_SAID = 0.5
"""The share of what the path leaves open, names apart, that the sentences must hold."""


@dataclass(frozen=True, slots=True)
class Behind:
    """Sentences behind a path to a thing; `worth` is the path's and theirs together."""

    entity: int
    branch: Branch
    clue: str
    quotes: tuple[Quote, ...]
    worth: float


class Leads(Protocol):
    """Tells of a path what it is worth, and what of the question it leaves open."""

    def worth(self, branch: Branch) -> float:
        """Return how much of the question the path matches."""
        ...

    def left(self, branches: Sequence[Branch]) -> str:
        """Return the words that the best of some paths has not matched, and the names at its end."""
        ...


def best_behind(context: Context, graph: KnowledgeGraph, branches: Sequence[Branch], leads: Leads) -> Behind | None:
    """Return the sentences that best answer what a path leaves open, None where none do."""
    found: list[Behind] = []
    for branch in branches:
        if branch.ways and len(branch.entities) <= _MOST_ALIKE:
            found += _read(context, graph, branch, leads)
    return max(found, key=lambda each: (each.worth, -each.branch.depth), default=None)


def _read(context: Context, graph: KnowledgeGraph, branch: Branch, leads: Leads) -> list[Behind]:
    clue = leads.left([branch])
    weights = word_weights(context, clue)
    vector = context.embedder.embed_query(clue)[np.newaxis]
    found = []
    for entity in branch.entities.tolist():
        named = {word.key for word in words(spoken(graph.names[entity]))}
        rows = np.array(open_chunks(context).mentioning(entity), np.int64)
        open_weight = sum(weight for word, weight in weights.items() if word not in named)
        if not len(rows) or not open_weight:
            continue
        cosines = context.chunk_vectors.scores(vector, rows)[0]
        near = np.argsort(-cosines, kind="stable")[:_PASSAGES]
        passages = [context.passage(int(rows[at]), float(cosines[at])) for at in near]
        quotes = quotes_for(context, clue, passages, weights)
        chosen = choose(clue, quotes, weights, context.settings.answer.sentences)
        if unsupported(chosen, quotes, weights):
            continue
        covered = frozenset[str]().union(*(each.covers for each in chosen)) - named
        share = sum(weights[word] for word in covered) / open_weight
        worth = leads.worth(branch)
        if share < _LEAST_SAID:
            continue
        said = (share + max(each.cosine for each in chosen)) / 2
        found.append(Behind(entity, branch, clue, tuple(chosen), worth + (1 - worth) * said))
    return found


def answer_behind(
    name: str,
    context: Context,
    graph: KnowledgeGraph,
    question: str,
    behind: Behind,
    found: Found,
    record: Record,
    before: Sequence[Step],
    say: Say,
) -> Answer:
    """Return the answer that quotes the sentences and tells the path: triples are numbered first, then the quotes."""
    relations = [hop.relation for hop in hops_to(behind.branch, behind.entity)]
    grounds = open_grounds(context)
    citations = Citations(context)
    lines = []
    for number, each in enumerate(behind.quotes, start=len(relations) + 1):
        if citations.number(each.span, number):
            lines.append(f"{each.text} [{number}]")
    path = "; ".join(f"{sentence(graph, row)} [{number}]" for number, row in enumerate(relations, start=1))
    text = "\n".join([*lines, f"({path})"])
    say(text)
    short = short_answer(context, question, [each.span for each in behind.quotes])
    step = Step("behind", f"{path}: read for {behind.clue}, {len(lines)} sentences quoted")
    steps = (*before, *record.steps(), step)
    return Answer(
        question=question,
        method=name,
        text=text,
        citations=(*grounds.citations(relations), *citations.made()),
        evidence=Evidence(found.passages, trace=steps, walk=record.trace()),
        usage=Usage(depth=behind.branch.depth),
        trace=steps,
        dropped_citations=citations.dropped,
        names=(short,) if short else (),
        triples=grounds.triples(relations),
        span=short,
    )
