"""The menu: every method by name. A new method is one file and one line here, or a plug-in.

METHODS is the only place that names our methods. A line has the name, one sentence for users, and the location of the
code: a class or function below `conspectus.query`, imported when the method is first used.

    retriever   called with (context): returns a `Retriever`
    answerer    called with (name, context, model): returns an `Answerer`; `name` is what the answer reports

Without a language model `model` is None and `name` ends in ":offline": the answerer is then an extractive fallback. A
method without a fallback is marked `needs_model`. `Method.missing` says why a method cannot run with some settings. A
method with a retriever but no answerer is answered by a reader of its passages (`query/answer_writing`).
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, cast

from conspectus.storage.errors import NeedsModel, PluginFailed, UnknownMethod, UsageError, did_you_mean
from conspectus.storage.level_names import LEVELS, Level
from conspectus.storage.plugins import Plugin, plugins, warn

if TYPE_CHECKING:
    from conspectus.prompts.language_model import LanguageModel
    from conspectus.query.context import Context
    from conspectus.query.types import Answerer, Retriever
    from conspectus.storage.settings import Settings

DEFAULT_METHOD = "auto"
"""The default method of `ask`."""
DEFAULT_RETRIEVER = "ppr"
"""The default method of `retrieve` and `explain`."""
COMPARED = ("bm25", "dense", "hybrid", "ppr")
"""The methods that an evaluation of retrieval compares by default."""


class _Lazy:
    """A class or function below `query/methods` with options for it, imported when it is first called."""

    def __init__(self, path: str, **options: object) -> None:
        self._path = path
        self._options = options

    def __call__(self, *args: object) -> object:
        module, _, name = self._path.partition(":")
        make = getattr(import_module(f"conspectus.query.methods.{module}"), name)
        return cast("object", make(*args, **self._options))


class Method:
    """A method of answering questions."""

    def __init__(
        self,
        name: str,
        about: str,
        retriever: "str | Callable[[Context], Retriever] | None",
        answerer: "str | Callable[[str, Context, LanguageModel | None], Answerer] | _Lazy | None" = None,
        *,
        needs_model: bool = False,
        reranks: "Callable[[Settings], bool] | None" = None,
        section: str = "",
        over_endpoint: bool = False,
    ) -> None:
        """Describe a method.

        Args:
            name: The value of --method.
            about: One sentence for the list of methods.
            retriever: The location of its retriever, as "module:name", or its factory; None if it retrieves no
            passages.
            answerer: The location of its answerer, or its factory; None for a reader of the passages of `retriever`.
            needs_model: Whether it has no fallback without a language model.
            reranks: Called with the settings: whether it uses the cross-encoder of `rerank.model`. None: it never does.
            section: The section of the settings for it; by default the section of the same name.
            over_endpoint: Whether it needs no documents, so that it can answer over a graph behind a SPARQL endpoint.
        """
        self.name = name
        self.about = about
        self.needs_model = needs_model
        self.section = section or name.partition(":")[0]
        self.over_endpoint = over_endpoint
        self._reranks = reranks
        self._retriever = _Lazy(retriever) if isinstance(retriever, str) else retriever
        self._answerer = _Lazy(answerer) if isinstance(answerer, str) else answerer

    @property
    def retrieves(self) -> bool:
        """Whether the method retrieves passages, so that `retriever` can be called."""
        return self._retriever is not None

    def missing(self, settings: "Settings") -> str | None:
        """Return the model that the method takes and the settings do not name, and how to set it; None if it can run.

        Example:
            >>> from conspectus.storage.settings import Settings
            >>> METHODS["io"].missing(Settings.model_construct())
            "a language model: set llm.model (and llm.base_url, unless it is OpenAI's)"
        """
        if self.needs_model and not settings.llm.model:
            return "a language model: set llm.model (and llm.base_url, unless it is OpenAI's)"
        if self._reranks is not None and self._reranks(settings) and not settings.rerank.is_set:
            return "a cross-encoder: set rerank.model to the folder of one, or rerank.base_url"
        return None

    def retriever(self, context: "Context") -> "Retriever":
        """Return the retriever of the method.

        Raises:
            UnknownMethod: The method retrieves no passages.
            NeedsModel: The method takes a model that the settings do not name.
        """
        if self._retriever is None:
            raise UnknownMethod(
                f"the method {self.name!r} has no passages to retrieve; ask it, or retrieve with {DEFAULT_RETRIEVER!r}"
            )
        self._check(context)
        return cast("Retriever", self._retriever(context))

    def answerer(self, context: "Context") -> "Answerer":
        """Return the answerer of the method, or its fallback if the settings name no language model.

        Raises:
            NeedsModel: The method takes a model that the settings do not name.
        """
        self._check(context)
        model = context.model
        name = self.name if model else f"{self.name}:offline"
        if self._answerer is not None:
            return cast("Answerer", self._answerer(name, context, model))
        if model is None:
            from conspectus.query.answer_writing.extractive import ExtractiveReader

            return ExtractiveReader(name, context, self.retriever(context))
        from conspectus.query.answer_writing.generative import ModelReader

        return ModelReader(name, context, self.retriever(context), model)

    def _check(self, context: "Context") -> None:
        if missing := self.missing(context.settings):
            raise NeedsModel(f"the method {self.name!r} takes {missing}")


# fmt: off
_MENU = (
    Method("auto", "chooses between a query of the graph, global and ppr, and says why",
           "ppr.ppr:PprRetriever", _Lazy("auto:open_auto", whole="global", passages="ppr", walk="tog2",
                                                     paths="plan", sets="all"), over_endpoint=True),
    Method("bm25", "passages that share words with the question", "baselines:Bm25Retriever"),
    Method("dense", "passages near in meaning", "baselines:DenseRetriever"),
    Method("hybrid", "reciprocal rank fusion of bm25 and dense", "baselines:HybridRetriever"),
    Method("rerank", "candidates of another method, ranked again by a cross-encoder", "baselines:open_rerank",
           reranks=lambda _: True),
    Method("ppr", "personalised PageRank over names, entities and passages: several hops", "ppr.ppr:PprRetriever"),
    Method("ppr:hipporag1", "HippoRAG: from the question's entities over triples", "hipporag.hipporag:HippoRag1"),
    Method("ppr:hipporag2", "HippoRAG 2: from facts over triples and passages", "hipporag.hipporag:HippoRag2"),
    Method("ircot", "a model thinks sentence by sentence, each looked up with another method (ircot.retriever)",
           "ircot:open_ircot_retriever", "ircot:open_ircot", needs_model=True,
           reranks=lambda settings: settings.ircot.retriever == "rerank"),
    Method("all", "whole sets, counted, added and listed: documents, rows of tables, messages, headings, names",
           None, "complete.complete:Complete"),
    Method("global", "map-reduce over the community reports of a level: questions about the whole",
           None, "graphrag.global_search:open_level_search", section="global_search"),
    *(Method(f"global:{level}", f"the same over the communities of level {level} (c0 is the coarsest)",
             None, _Lazy("graphrag.global_search:open_level_search", level=level), section="global_search")
      for level in LEVELS),
    Method("global:dynamic", "the same over the reports that a walk from the roots down finds relevant",
           None, "graphrag.global_search:open_dynamic_search", section="global_search"),
    Method("lazy", "map-reduce over passages that a model finds relevant, community by community; needs no reports",
           None, "graphrag.lazy:open_lazy", section="lazy_search"),
    Method("local", "all that is known of the things in the question, in one window",
           "graphrag.local:LocalRetriever", "graphrag.local:LocalSearch", section="local_search"),
    Method("drift", "a first answer from reports, then follow-up questions by local search",
           None, "graphrag.drift:open_drift", section="drift_search"),
    Method("tog", "beam search over the graph: relations are pruned, then the entities behind them",
           None, "tog.tog:Tog", over_endpoint=True),
    Method("tog2", "the same beam search, reading at every step what the documents say of the entities it came to",
           "tog.tog2:Tog2Retriever", "tog.tog2:Tog2", section="tog", over_endpoint=True),
    Method("fasttog", "chains of communities of the graph, from what the question names towards its answer",
           None, "fasttog.fasttog:FastToG", over_endpoint=True),
    Method("plan", "relation paths are planned first, then looked up; paths between two things that are named",
           None, "plan.plan:Plan", over_endpoint=True),
    Method("gretriever", "the connected part of the graph that is worth most to the question, as text "
                         "(prize-collecting Steiner tree)",
           "gretriever.gretriever:GRetrieverRetriever", "gretriever.gretriever:open_gretriever", over_endpoint=True),
    Method("sparql", "one SPARQL query over the graph: counts, yes or no, comparisons, dates, several conditions",
           None, "sparql:Sparql", over_endpoint=True),
    Method("triples", "the triples nearest to the question, each by itself: what subgraphs are compared with",
           "gretriever.triples:TriplesRetriever", "gretriever.triples:TriplesBaseline", over_endpoint=True),
    Method("kaping", "the triples around what the question names that are nearest to it",
           None, "nearest_facts:OneStep", over_endpoint=True),
    Method("groups", "groups of neighbours of what the question names, and of these the nearest",
           None, "nearest_facts:Groups", over_endpoint=True),
    Method("io", "what a model knows, asked at once",
           None, _Lazy("no_retrieval:Direct", prompt="query/answer/io"), needs_model=True),
    Method("cot", "what a model knows, step by step",
           None, _Lazy("no_retrieval:Direct", prompt="query/answer/cot"), needs_model=True),
    Method("cot_sc", "the most frequent of several chains of thought",
           None, _Lazy("no_retrieval:Direct", prompt="query/answer/cot", sampled=True), needs_model=True),
    Method("mixed", "the nearest triples and the nearest passages, read together",
           None, "nearest_facts:Mixed", needs_model=True, section="kaping"),
    Method("ts", "map-reduce over all passages: what global search is compared with",
           None, "graphrag.global_search:open_passage_search"),
    Method("ss", "as many of the nearest passages as one call holds: the other comparison",
           None, "graphrag.map_input:VectorSearch"),
)
# fmt: on

METHODS: dict[str, Method] = {method.name: method for method in _MENU}


def methods() -> dict[str, Method]:
    """Return all methods by name: ours, then those of usable plug-ins."""
    found = dict(METHODS)
    for name, plugin in plugins("methods").items():
        try:
            found.setdefault(name, _of_plugin(plugin))
        except PluginFailed as error:
            warn(str(error))
    return found


def _of_plugin(plugin: Plugin) -> Method:
    method = plugin.load()
    if not isinstance(method, Method) or method.name != plugin.name:
        raise PluginFailed(plugin.complaint(TypeError(f"it should be a Method of the name {plugin.name!r}")))
    return method


def find_method(name: str, settings: "Settings | None" = None) -> Method:
    """Return the method with this name. With settings, the message about an unknown one lists only what can run.

    >>> find_method("bm25").about
    'passages that share words with the question'

    Raises:
        UnknownMethod: There is no such method; the message names the nearest one and lists the others.
        PluginFailed: It is a plug-in that cannot be used.
    """
    if name in METHODS:
        return METHODS[name]
    if name in plugins("methods"):
        return _of_plugin(plugins("methods")[name])
    added = plugins("methods")
    near = did_you_mean(name, [*METHODS, *added]) or "."
    listed = [each.name for each in _MENU if settings is None or each.missing(settings) is None]
    raise UnknownMethod(f"unknown method {name!r}{near} There are: {', '.join([*listed, *added])}")


def find_retriever(name: str, context: "Context") -> "Retriever":
    """Return the retriever of the method with this name.

    Raises:
        UnknownMethod: There is no such method, or it retrieves no passages.
        NeedsModel: The method takes a model that the settings do not name.
    """
    return find_method(name, context.settings).retriever(context)


def at_level(name: str, level: Level) -> str:
    """Return the name of the method that searches one level of the hierarchy.

    >>> at_level("auto", "c2")
    'global:c2'

    Raises:
        UsageError: The method has no levels.
    """
    if name not in {"auto", "global"}:
        raise UsageError(f"--level is for global search, not for method {name!r}")
    return f"global:{level}"
