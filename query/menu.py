"""The whole menu: every way to ask, by name. A new method is one file and one line here."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass

from conspectus.prompts.model import LanguageModel
from conspectus.query.context import Context
from conspectus.query.methods.auto import AutoAnswerer
from conspectus.query.methods.baselines.bm25 import Bm25Retriever
from conspectus.query.methods.baselines.dense import DenseRetriever
from conspectus.query.methods.baselines.hybrid import HybridRetriever
from conspectus.query.methods.baselines.rerank import RerankRetriever
from conspectus.query.methods.direct import Direct
from conspectus.query.methods.fasttog.fasttog import FastToG
from conspectus.query.methods.graphrag.drift import Drift
from conspectus.query.methods.graphrag.drift_offline import ExtractiveDrift
from conspectus.query.methods.graphrag.dynamic import ClosenessRater, DynamicReports, ModelRater
from conspectus.query.methods.graphrag.global_offline import ExtractiveVectorSearch, GlobalSearch
from conspectus.query.methods.graphrag.global_search import MapReduce
from conspectus.query.methods.graphrag.local import ExtractiveLocalSearch, LocalRetriever, LocalSearch
from conspectus.query.methods.graphrag.map_input import EveryPassage, LevelReports, Selector
from conspectus.query.methods.graphrag.vector_search import VectorSearch
from conspectus.query.methods.gretriever.gretriever import GRetriever, GRetrieverRetriever
from conspectus.query.methods.gretriever.soft.answer import SoftGRetriever
from conspectus.query.methods.gretriever.triples import Triples, TriplesRetriever
from conspectus.query.methods.hipporag.hipporag import HippoRag1, HippoRag2
from conspectus.query.methods.ircot import IrcotRetriever
from conspectus.query.methods.one_step import Cok, OneStep, nearest_groups, nearest_triples
from conspectus.query.methods.ppr.ppr import PprRetriever
from conspectus.query.methods.tog.tog import Tog
from conspectus.query.methods.tog.tog2 import Tog2, Tog2Retriever
from conspectus.query.reader.extractive import ExtractiveReader
from conspectus.query.reader.generative import ModelReader
from conspectus.query.types import Answerer, Retriever
from conspectus.storage.errors import NeedsModel, UnknownMethod


@dataclass(frozen=True, slots=True)
class Method:
    """A way to ask: `retriever` finds passages (None where the method has no such step), `answerer` answers.

    Where a method `needs_model`, both raise NeedsModel without one: it has no honest stand-in.
    """

    about: str
    retriever: Callable[[Context], Retriever] | None
    answerer: Callable[[Context], Answerer]
    needs_model: bool = False


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


def _local(context: Context) -> Answerer:
    model = context.model
    if model is None:
        return ExtractiveLocalSearch("local:offline", context)
    return LocalSearch("local", context, model)


def _drift(context: Context) -> Answerer:
    model = context.model
    if model is None:
        return ExtractiveDrift("drift:offline", context)
    return Drift("drift", context, model)


def _auto(context: Context) -> Answerer:
    return AutoAnswerer(context, METHODS["global"].answerer(context), METHODS["ppr"].answerer(context))


def _rerank(context: Context) -> Retriever:
    return RerankRetriever(context, find_retriever(context.settings.rerank.candidates, context))


def _ircot_retriever(context: Context) -> Retriever:
    model = _needed_model("ircot", context)
    return IrcotRetriever(context, find_retriever(context.settings.ircot.retriever, context), model)


def _ircot(context: Context) -> Answerer:
    # As in the paper the answer is read from the passages: the thoughts only find them, so that nothing is said which
    # no passage supports. The calls are at most `ircot.max_steps` thoughts and 1 answer.
    model = _needed_model("ircot", context)
    return ModelReader("ircot", context, _ircot_retriever(context), model, context.settings.ircot.passages)


def _direct(name: str, about: str, prompt: str, samples: Callable[[Context], int]) -> Method:
    def answerer(context: Context) -> Answerer:
        return Direct(name, context, _needed_model(name, context), prompt, samples(context))

    return Method(about, None, answerer, needs_model=True)


def _tog(context: Context) -> Answerer:
    return Tog("tog", context, context.model)


def _tog2(context: Context) -> Answerer:
    return Tog2("tog2", context, context.model)


def _fasttog(context: Context) -> Answerer:
    return FastToG("fasttog", context, context.model)


def _gretriever(context: Context) -> Answerer:
    if context.settings.soft_prompt.folder:
        return SoftGRetriever("gretriever:soft", context)
    return GRetriever("gretriever", context, context.model)


def _cok(context: Context) -> Answerer:
    return Cok("cok", context, _needed_model("cok", context))


def _needed_model(name: str, context: Context) -> LanguageModel:
    model = context.model
    if model is None:
        raise NeedsModel(
            f"the method {name!r} takes a language model: set llm.model (and llm.base_url, unless it is OpenAI's)"
        )
    return model


METHODS: dict[str, Method] = {
    "auto": Method("chooses between global and ppr, and says why", PprRetriever, _auto),
    "bm25": _reading("bm25", "passages that share words with the question", Bm25Retriever),
    "dense": _reading("dense", "passages near in meaning", DenseRetriever),
    "hybrid": _reading("hybrid", "reciprocal rank fusion of bm25 and dense", HybridRetriever),
    "rerank": _reading("rerank", "candidates of another method, ranked again by a cross-encoder", _rerank),
    "ppr": _reading("ppr", "personalised PageRank over names, entities and passages: several hops", PprRetriever),
    "ppr:hipporag1": _reading("ppr:hipporag1", "HippoRAG: from the question's entities over triples", HippoRag1),
    "ppr:hipporag2": _reading("ppr:hipporag2", "HippoRAG 2: from facts over triples and passages", HippoRag2),
    "ircot": Method(
        "a model thinks sentence by sentence, each looked up with another method (ircot.retriever)",
        _ircot_retriever,
        _ircot,
        needs_model=True,
    ),
    "global": _global("global", "map-reduce over the community reports of a level: questions about the whole"),
    "global:c0": _global("global:c0", "the same over the coarsest communities", "c0"),
    "global:c1": _global("global:c1", "the same one level down", "c1"),
    "global:c2": _global("global:c2", "the same two levels down", "c2"),
    "global:c3": _global("global:c3", "the same three levels down", "c3"),
    "global:dynamic": _map_reduce(
        "global:dynamic", "the same over the reports that a walk from the roots down finds relevant", _dynamic
    ),
    "local": Method("all that is known of the things in the question, in one window", LocalRetriever, _local),
    "drift": Method("a first answer from reports, then follow-up questions by local search", None, _drift),
    "tog": Method("beam search over the graph: relations are pruned, then the entities behind them", None, _tog),
    "tog2": Method(
        "the same beam search, reading at every step what the documents say of the entities it came to",
        lambda context: Tog2Retriever(context, context.model),
        _tog2,
    ),
    "fasttog": Method(
        "chains of communities of the graph, from what the question names towards its answer", None, _fasttog
    ),
    "gretriever": Method(
        "the connected part of the graph that is worth most to the question (prize-collecting Steiner tree), as text",
        GRetrieverRetriever,
        _gretriever,
    ),
    "triples": Method(
        "the triples nearest to the question, each by itself: what subgraphs are compared with",
        TriplesRetriever,
        lambda context: Triples("triples", context, context.model),
    ),
    "kaping": Method(
        "the triples around what the question names that are nearest to it",
        None,
        lambda context: OneStep("kaping", context, nearest_triples, context.model),
    ),
    "kgp": Method(
        "groups of neighbours of what the question names, and of these the nearest",
        None,
        lambda context: OneStep("kgp", context, nearest_groups, context.model),
    ),
    "io": _direct("io", "what a model knows, asked at once", "query/io", lambda context: 1),
    "cot": _direct("cot", "what a model knows, step by step", "query/cot", lambda context: 1),
    "cot_sc": _direct(
        "cot_sc",
        "the most frequent of several chains of thought",
        "query/cot",
        lambda context: context.settings.tog.samples,
    ),
    "cok": Method("the nearest triples and the nearest passages, read together", None, _cok, needs_model=True),
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
