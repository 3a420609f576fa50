"""Automatic choice of a method: a graph query, a whole set, global search or passages, then a walk."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, cast

import numpy as np
from conspectus.prompts.language_model import LanguageModel
from conspectus.query.answer_writing.asked import asked_of
from conspectus.query.answer_writing.section import FEW_DOCUMENTS, section_of
from conspectus.query.answering import assembling
from conspectus.query.context import Context
from conspectus.query.menu import find_method
from conspectus.query.question.kinds import FACTS, kind_of, thing_described
from conspectus.query.question.parts import connected_things
from conspectus.query.question.question import open_question
from conspectus.query.question.scope import ABOUT_THE_WHOLE, closeness_in_translation, closeness_to_whole
from conspectus.query.types import Answer, Answerer, Step
from conspectus.query.walk.passages import has_documents, has_imported_graph

if TYPE_CHECKING:
    from conspectus.query.methods.complete.complete import Complete

_FEW = 0.05
"""Largest share of the passages that have a word which names something in the documents; one always may."""
_IN_MANY_LANGUAGES = 0.5
"""`ABOUT_THE_WHOLE` for the encoder of many languages: of 957 questions for facts (XQuAD in five languages, first
questions to small folders) 99 in 100 are below .48, of the typical questions about a whole corpus one below .57."""


class Auto:
    """Answers questions from an imported graph, about the corpus as a whole, or from passages.

    1. If the index has an imported graph, the question is read as a query of it (`query/graph_question`). An answer
       that accounts for the question's words is final; otherwise the trace says what the graph lacks. A question for
       all about a thing ("Tell me about X") is answered from the documents, if they name it. Questions about
       the connection of two things ("How is X connected to Y?") are answered by the paths between them (`paths`).
    2. If the index has documents, a question whose every word names something of one set is computed over that set
       (`complete`). One that asks for the abstract or the conclusion of few documents is answered by that section.
       Any other is about the whole if its words say so (`kind_of`), in four languages, or, unless it has a number or
       asks for a date, place, person or number, if its cosine with a typical question of that kind is at least its
       cosine with the nearest passage: a passage answers questions that it is similar to. If that cosine is below
       `ABOUT_THE_WHOLE`, the question may also not contain a word that few passages have.
       Without a model, a passage that contains none of the words that the graph lacks is irrelevant.
    3. If neither finds an answer, the graph is walked (`walk`), which combines its paths with passages.

    Steps 1 and 3 do not apply to an index of documents alone.
    """

    def __init__(
        self, context: Context, whole: Callable[[], Answerer], passages: Callable[[], Answerer],
        graph: bool = False, walk: Answerer | None = None, paths: Answerer | None = None,
        sets: "Complete | None" = None,
    ) -> None:  # fmt: skip
        self._context = context
        self._whole = cache(whole)  # one of the two answers a question, and either takes a while to import
        self._passages = cache(passages)
        self._graph = graph
        self._walk = walk
        self._paths = paths
        self._sets = sets

    async def answer(self, question: str) -> Answer:
        """Answer with the method that suits the question; the first step of the trace names it and the reason."""
        return await (self._from_graph(question) if self._graph else self._from_documents(question))

    async def _from_graph(self, question: str) -> Answer:
        from conspectus.query.citations.marks import BEST_EFFORT
        from conspectus.query.graph_question.answer import answer_of
        from conspectus.query.graph_question.confidence import says_what_was_unmet
        from conspectus.query.graph_question.reader import read_graph_question

        if has_documents(self._context) and (thing := thing_described(question)):
            found = await self._from_documents(thing)
            if found.known:
                return _first(replace(found, question=question), "it asks for all about a thing")
        reading = read_graph_question(self._context, question)
        paths = self._paths if connected_things(question) else None
        if paths:
            tried = await paths.answer(question)
        else:
            with assembling(question, "graph") as assembly:
                tried = answer_of(assembly, self._context, reading)
        if tried.known and BEST_EFFORT not in tried.text:
            found_by = "it asks what connects two things" if paths else "a query of the graph accounts for the question"
            return _first(tried, f"{tried.method}: {found_by}")
        why = f"the graph has no answer: {reading.declined}"
        if has_documents(self._context):
            found = await self._from_documents(question)
            if found.known and (self._context.model or says_what_was_unmet(reading, found.text)):
                return _first(found, why)
        if self._walk is not None:
            walked = await self._walk.answer(question)
            if self._context.model or (walked.known and BEST_EFFORT not in walked.text):
                return _first(walked, f"{walked.method}: {why}, and no passage either")
        return _first(tried, f"{tried.method}: {why}")

    async def _from_documents(self, question: str) -> Answer:
        if section_of(question) and self._context.index.manifest.rows["documents"] <= FEW_DOCUMENTS:
            answer = await self._passages().answer(question)
            if answer.known:
                return _first(answer, f"{answer.method}: it asks for a section of a document")
        if kind_of(question) == "global":
            answer = await self._whole().answer(question)
            return _first(answer, f"{answer.method}: its words ask for the whole")
        if self._sets is not None and (computed := self._sets.computed(question)):
            return _first(computed, f"{computed.method}: all its words name something of one set")
        typical = self._typical(question)
        nearest = self._nearest_passage(question)
        asked = asked_of(self._context, question)
        is_whole = typical >= nearest and kind_of(question) not in FACTS and not asked.numbers
        if asked.by_many_languages:  # this encoder places questions near questions, and far from whole passages
            held = any(len(rows) for rows in open_question(self._context, question).terms.chunks)
            is_whole = is_whole and (typical >= _IN_MANY_LANGUAGES or not held)
        rare = self._rare_word(question) if is_whole and typical < ABOUT_THE_WHOLE else ""
        answerer = self._whole() if is_whole and not rare else self._passages()
        answer = await answerer.answer(question)
        return _first(
            answer,
            f"{answer.method}: cosine {typical:.2f} with a typical question about a whole corpus, "
            f"{nearest:.2f} with the nearest passage" + (f"; few passages have {rare!r}" if rare else ""),
        )

    def _rare_word(self, question: str) -> str:
        """Return the first stem of the question that some but at most `_FEW` of the passages have, or ""."""
        terms = open_question(self._context, question).terms
        most = max(1, _FEW * len(self._context.chunks))
        return next((stem for stem, rows in zip(terms.stems, terms.chunks, strict=True) if 0 < len(rows) <= most), "")

    def _typical(self, question: str) -> float:
        """Return the cosine with typical questions about a whole corpus; with a model, in other languages too.

        Without a model, global search could not judge whether the documents support a question in another language.
        """
        english = closeness_to_whole(self._context, question)
        if not self._context.settings.llm.model:
            return english
        return max(english, closeness_in_translation(self._context, question))

    def _nearest_passage(self, question: str) -> float:
        vector = self._context.embedder.embed_query(question)
        scores, _ = self._context.chunk_vectors.search(vector[np.newaxis], 1)
        return float(scores[0][0]) if scores.size else 0.0


def _first(answer: Answer, why: str) -> Answer:
    return replace(answer, trace=(Step("auto", why), *answer.trace))


def open_auto(
    _name: str,
    context: Context,
    model: LanguageModel | None,
    *,
    whole: str,
    passages: str,
    walk: str,
    paths: str,
    sets: str,
) -> Auto:
    """Return the choice between methods, given by name; the answer names the chosen one."""
    graph = has_imported_graph(context)
    return Auto(
        context,
        lambda: find_method(whole).answerer(context),
        lambda: find_method(passages).answerer(context),
        graph,
        find_method(walk).answerer(context) if graph and (model or has_documents(context)) else None,
        find_method(paths).answerer(context) if graph else None,
        cast("Complete", find_method(sets).answerer(context)) if has_documents(context) else None,
    )
