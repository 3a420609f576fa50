"""The whole menu: every way to ask, by name. A new method is one file and one line here."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass

from query.answer.auto import AutoAnswerer
from query.answer.dynamic import ClosenessRater, DynamicReports, ModelRater
from query.answer.global_model import MapReduce
from query.answer.global_search import ExtractiveVectorSearch, GlobalSearch
from query.answer.read import ExtractiveReader
from query.answer.read_model import ModelReader
from query.answer.selection import EveryPassage, LevelReports, Selector
from query.answer.vector_search import VectorSearch
from query.context import Context
from query.retrieve.bm25 import Bm25Retriever
from query.retrieve.dense import DenseRetriever
from query.retrieve.hybrid import HybridRetriever
from query.retrieve.ppr import PprRetriever
from query.retrieve.rerank import RerankRetriever
from query.types import Answerer, Retriever
from storage.errors import UnknownMethod


@dataclass(frozen=True, slots=True)
class Method:
    """A way to ask: `retriever` finds passages (None where the method has no such step), `answerer` answers."""

    about: str
    retriever: Callable[[Context], Retriever] | None
    answerer: Callable[[Context], Answerer]


def _reading(name: str, about: str, retriever: Callable[[Context], Retriever]) -> Method:
    def answerer(context: Context) -> Answerer:
        model = context.model
        if model is None:
            return ExtractiveReader(f"{name}:offline", context, retriever(context))
        return ModelReader(name, context, retriever(context), model)

    return Method(about, retriever, answerer)


def _map_reduce(name: str, about: str, select: Callable[[Context], Selector]) -> Method:
    def answerer(context: Context) -> Answerer:
        model = context.model
        if model is None:
            return GlobalSearch(f"{name}:offline", context, select(context))
        return MapReduce(name, context, model, select(context))

    return Method(about, None, answerer)


def _global(name: str, about: str, level: str | None = None) -> Method:
    return _map_reduce(
        name, about, lambda context: LevelReports(context, level or context.settings.global_search.level)
    )


def _dynamic(context: Context) -> Selector:
    model = context.model
    return DynamicReports(context, ModelRater(context, model) if model else ClosenessRater(context))


def _vector_search(context: Context) -> Answerer:
    model = context.model
    return VectorSearch("ss", context, model) if model else ExtractiveVectorSearch("ss:offline", context)


def _auto(context: Context) -> Answerer:
    return AutoAnswerer(context, METHODS["global"].answerer(context), METHODS["ppr"].answerer(context))


def _rerank(context: Context) -> Retriever:
    return RerankRetriever(context, find_retriever(context.settings.rerank.candidates, context))


METHODS: dict[str, Method] = {
    "auto": Method("chooses between global and ppr, and says why", PprRetriever, _auto),
    "bm25": _reading("bm25", "passages that share words with the question", Bm25Retriever),
    "dense": _reading("dense", "passages near in meaning", DenseRetriever),
    "hybrid": _reading("hybrid", "reciprocal rank fusion of bm25 and dense", HybridRetriever),
    "rerank": _reading("rerank", "candidates of another method, ranked again by a cross-encoder", _rerank),
    "ppr": _reading("ppr", "personalised PageRank over names, entities and passages: several hops", PprRetriever),
    "global": _global("global", "map-reduce over the community reports of a level: questions about the whole"),
    "global:c0": _global("global:c0", "the same over the coarsest communities", "c0"),
    "global:c1": _global("global:c1", "the same one level down", "c1"),
    "global:c2": _global("global:c2", "the same two levels down", "c2"),
    "global:c3": _global("global:c3", "the same three levels down", "c3"),
    "global:dynamic": _map_reduce(
        "global:dynamic", "the same over the reports that a walk from the roots down finds relevant", _dynamic
    ),
    "ts": _map_reduce("ts", "map-reduce over all passages: what global search is compared with", EveryPassage),
    "ss": Method("as many of the nearest passages as one call holds: the other comparison", None, _vector_search),
}


def find_method(name: str) -> Method:
    """Return the method of that name; UnknownMethod names the nearest known one."""
    if name in METHODS:
        return METHODS[name]
    nearest = difflib.get_close_matches(name.lower(), METHODS, n=1, cutoff=0.0)
    raise UnknownMethod(f"unknown method {name!r}; did you mean {nearest[0]!r}? There are: {', '.join(METHODS)}")


def find_retriever(name: str, context: Context) -> Retriever:
    """Return a method's retriever, ready to ask; UnknownMethod where the method finds no passages."""
    method = find_method(name)
    if method.retriever is None:
        raise UnknownMethod(f"the method {name!r} has no passages to retrieve; ask it, or retrieve with 'ppr'")
    return method.retriever(context)
