"""Settings of the methods that answer questions.

To add a section, add a class here and a line in `AskingSections`.
"""

from typing import Literal

from conspectus.storage.level_names import Level
from conspectus.storage.settings.base import Sections, ServerUrl, SettingsSection, listed
from pydantic import Field, field_validator


class PprSettings(SettingsSection):
    """Personalized PageRank over passages and entities."""

    damping: float = Field(0.5, gt=0, lt=1, description="probability that the walk follows an edge")
    solver: Literal["push", "exact"] = Field(
        "push", description="`push` is approximate, local and fast; `exact` iterates to convergence"
    )
    bridge_passages: int = Field(
        2, ge=0, description="second hop: number of best passages whose names are searched for; 0 turns it off"
    )


class IrcotSettings(SettingsSection):
    """IRCoT: a model reasons sentence by sentence, with a retrieval for each sentence."""

    retriever: Literal["bm25", "dense", "hybrid", "rerank", "ppr", "ppr:hipporag1", "ppr:hipporag2"] = Field(
        "ppr", description="retrieval method for the question and each thought"
    )
    max_steps: int = Field(4, ge=1, description="maximum thoughts, one model call each; the answer takes one more call")
    passages: int = Field(10, ge=1, description="number of best passages so far shown for each thought and the answer")


class AnswerSettings(SettingsSection):
    """Answers: how much is read, and with a model how it is written."""

    passages: int = Field(8, ge=1, description="number of best passages that an answer is read from")
    sentences: int = Field(
        6, ge=1, description="without a model: maximum sentences, list items, rows and code blocks that are quoted"
    )
    form: Literal["auto", "full", "brief"] = Field(
        "auto",
        description="with a model, of answers from passages: `full` sentences, or `brief`: the model thinks, then "
        "answers with a name, number or phrase; `auto` is brief in `evaluate` and full elsewhere",
    )
    words: int | None = Field(None, ge=1, description="with a model: maximum words of a full answer")
    instructions: str = Field(
        "", description="with a model: further instructions for every answer from passages, reports or records"
    )


class ConversationSettings(SettingsSection):
    """Follow-up questions."""

    turns: int = Field(6, ge=0, description="number of earlier turns that a follow-up is read with; 0: none")
    tokens: int = Field(2000, ge=64, description="maximum tokens of these turns")


class GlobalSettings(SettingsSection):
    """Global search: map-reduce over community reports."""

    level: Level = Field("c1", description="community level, c0 (coarsest) to c3")
    context_tokens: int = Field(8000, ge=256, description="maximum tokens of reports or passages in one model call")


class LazySettings(SettingsSection):
    """Lazy global search: a model tests passages at question time."""

    budget: int = Field(100, ge=1, description="maximum passages whose relevance is tested; ten in one call")


class LocalSettings(SettingsSection):
    """Local search: entities linked to the question, their records, and passages."""

    entities: int = Field(10, ge=1, description="maximum entities linked to the question, by name, then by embedding")
    relations: int = Field(
        10, ge=0, description="per linked entity: maximum relations to entities that are not linked, and maximum claims"
    )
    level: Level = Field("c2", description="deepest community level whose reports are used")
    context_tokens: int = Field(8000, ge=256, description="maximum tokens of reports, records and passages")


class DriftSettings(SettingsSection):
    """DRIFT search: a first answer from reports, then follow-up questions to local search."""

    follow_ups: int = Field(5, ge=0, description="maximum follow-up questions per round")
    rounds: int = Field(2, ge=0, description="rounds of follow-up questions")


class FastTogSettings(SettingsSection):
    """FastToG: chains of communities over a knowledge graph."""

    width: int = Field(3, ge=1, description="number of chains, and maximum communities chosen at the start")
    max_depth: int = Field(5, ge=0, description="maximum rounds; each round extends every chain by one community")
    max_community_size: int = Field(4, ge=1, description="maximum entities of a community")
    graph2text: str = Field(
        "",
        description="with a model: folder of a model from `conspectus train graph2text` that verbalises communities; "
        "empty: their triples",
    )


class KapingSettings(SettingsSection):
    """KAPING, and the facts of `mixed`: the triples around the topics nearest to the question."""

    hops: int = Field(2, ge=1, description="maximum distance of the triples from the topics, in hops")
    triples: int = Field(10, ge=1, description="number of nearest triples that an answer is based on")


class GRetrieverSettings(SettingsSection):
    """G-Retriever: the connected subgraph with the best prize for the question, as text."""

    top_k_nodes: int = Field(
        3, ge=0, description="number of nodes with a prize: those named in the question, then the nearest"
    )
    top_k_edges: int = Field(
        15, ge=0, description="number of nearest edge texts with a prize; edges with the same text share it"
    )
    edge_cost: float = Field(0.5, gt=0, description="cost of an edge, lowered if the best edge prize is lower")
    fill: bool = Field(True, description="fill the remaining token budget with the nearest relations of named nodes")
    context_tokens: int = Field(
        512, ge=64, description="maximum tokens of the subgraph as text; also the budget of the method `triples`"
    )
    prompt: Literal["zero_shot", "zero_cot", "cot_bag", "question_only"] = Field(
        "zero_shot",
        description="with a model: direct, step by step, build the graph first, or (a baseline) without the graph",
    )


class TogSettings(SettingsSection):
    """ToG and ToG-2: beam search over a knowledge graph; ToG-2 also reads the documents of the entities."""

    width: int = Field(3, ge=1, description="beam width: entities kept per round, and relations kept per entity")
    depth: int = Field(3, ge=1, description="maximum rounds; each goes one hop further from the topics")
    clue: bool = Field(True, description="tog2: pass what is still missing on to the next round")
    scorer: Literal["embedding", "rerank", "bm25", "model"] = Field(
        "embedding", description="tog2: how chunks are scored; `rerank` is the cross-encoder of rerank.model"
    )
    task: Literal["qa", "claims", "slots"] = Field(
        "qa",
        description="with a model: answer questions, check claims or fill slots; `evaluate` takes the task of the "
        "suite if this is `qa`",
    )


class PlanSettings(SettingsSection):
    """Plans: relation paths that are proposed first, then looked up in the graph."""

    rounds: int = Field(
        3, ge=1, description="with a model: maximum rounds of a plan and a reasoning; each is told what was tried"
    )


class EndpointSettings(SettingsSection):
    """A graph behind a SPARQL endpoint (`conspectus ask --endpoint URL`): how names are found, and how much is read."""

    labels: tuple[str, ...] = Field(
        ("http://www.w3.org/2000/01/rdf-schema#label", "http://www.w3.org/2004/02/skos/core#prefLabel"),
        description="IRIs of the predicates that state names, the preferred one first",
    )
    languages: tuple[str, ...] = Field(
        ("en",), description="languages of names and texts, the preferred one first; those without a language count too"
    )
    hops: int = Field(2, ge=1, description="without a model: distance from the named things up to which it is read")
    most_triples: int = Field(
        5000, ge=1, description="without a model: statements that are read for a question; of a smaller graph all are"
    )
    seconds: float = Field(20, gt=0, description="longest time of a reply, waiting included if the server asks for it")

    @field_validator("labels", "languages", mode="before")
    @classmethod
    def _from_commas(cls, value: object) -> object:
        return listed(value)


class WalkSettings(SettingsSection):
    """Settings shared by the walks with a model: ToG, ToG-2 and FastToG."""

    own_knowledge: bool = Field(
        True,
        description="whether a model may answer from what it knows itself where a walk settles nothing; such an answer "
        "is marked",
    )


class RerankSettings(SettingsSection):
    """A cross-encoder that reranks candidates."""

    model: str = Field(
        "",
        description="folder of a cross-encoder, or name of one in the Hugging Face cache or on the server; empty: none",
    )
    base_url: ServerUrl = Field(
        "", description="URL of a server with POST /rerank (Cohere, Jina, vLLM, TEI), e.g. https://api.jina.ai/v1"
    )
    api_key_variable: str = Field("RERANK_API_KEY", description="environment variable with its key; it may need none")
    candidates: Literal["bm25", "dense", "hybrid", "ppr"] = Field(
        "hybrid", description="retrieval method that finds the candidates"
    )

    @property
    def is_set(self) -> bool:
        """Whether there is a reranker."""
        return bool(self.model or self.base_url)


class SoftPromptSettings(SettingsSection):
    """Answering with a trained soft graph prompt."""

    folder: str = Field(
        "", description="output folder of `conspectus train gretriever`; if set, the method gretriever uses it"
    )
    model: str = Field("", description="folder or name of its frozen model; empty: where it was during training")


class CitationSettings(SettingsSection):
    """Checking the citations of an answer, sentence by sentence."""

    unsupported: Literal["mark", "drop", "keep"] = Field(
        "mark",
        description="a sentence that its citations do not support is marked [unverified], dropped, or kept unchanged; "
        "it is counted in each case",
    )
    threshold: float = Field(
        0.6, ge=-1, le=1, description="minimum cosine of a sentence with a cited text (built-in encoder)"
    )
    ask_model: bool = Field(
        False, description="with a model: one call per sentence judges the support, instead of the cosine"
    )


class AccessSettings(SettingsSection):
    """Which documents a question may use, if documents carry access tags."""

    key: str = Field("access", min_length=1, description="metadata key (a column of the input) that holds the tags")
    untagged: Literal["public", "denied"] = Field(
        "public", description="documents without a tag are visible to everyone or to no one"
    )
    unasked: Literal["all", "untagged"] = Field(
        "all", description="if a question names no tag: use all documents, or only those without a tag"
    )
    graph: Literal["public", "denied"] = Field(
        "public", description="facts of an imported graph that no document states are visible to everyone or to no one"
    )


class AskingSections(Sections):
    """Settings of the methods that answer questions."""

    ppr: PprSettings = PprSettings.model_construct()
    ircot: IrcotSettings = IrcotSettings.model_construct()
    rerank: RerankSettings = RerankSettings.model_construct()
    answer: AnswerSettings = AnswerSettings.model_construct()
    conversation: ConversationSettings = ConversationSettings.model_construct()
    global_search: GlobalSettings = GlobalSettings.model_construct()
    lazy_search: LazySettings = LazySettings.model_construct()
    local_search: LocalSettings = LocalSettings.model_construct()
    drift_search: DriftSettings = DriftSettings.model_construct()
    kaping: KapingSettings = KapingSettings.model_construct()
    fasttog: FastTogSettings = FastTogSettings.model_construct()
    tog: TogSettings = TogSettings.model_construct()
    plan: PlanSettings = PlanSettings.model_construct()
    endpoint: EndpointSettings = EndpointSettings.model_construct()
    walk: WalkSettings = WalkSettings.model_construct()
    gretriever: GRetrieverSettings = GRetrieverSettings.model_construct()
    soft_prompt: SoftPromptSettings = SoftPromptSettings.model_construct()
    citations: CitationSettings = CitationSettings.model_construct()
    access: AccessSettings = AccessSettings.model_construct()
