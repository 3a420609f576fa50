"""The sections on how questions are answered.

A new section is a class here and its line in `AskingSections`.
"""

from typing import Literal

from conspectus.storage.community_level import Level
from conspectus.storage.settings.base import Section
from pydantic import BaseModel, Field, model_validator


class PprSettings(Section):
    """Personalised PageRank over passages and names."""

    damping: float = Field(0.5, gt=0, lt=1, description="probability that the walk follows an edge")
    solver: Literal["push", "exact"] = Field(
        "push", description="`push` is local and fast; `exact`, and a walk from very many seeds, iterates to the end"
    )
    epsilon: float = Field(2e-7, gt=0, description="push stops where less than this waits per edge of a node")
    text_seeds: int = Field(5, ge=1, description="passages that seed the walk because words or meaning are near")
    pool: int = Field(100, ge=1, description="best passages of the walk that are ranked again in pairs")
    bridge_passages: int = Field(
        2, ge=0, description="best passages whose names the question is asked again with: the second hop; 0: none"
    )
    bridge_names: int = Field(12, ge=1, description="most names of each of these, the rarest first")


class HippoRagSettings(Section):
    """HippoRAG 2's link from a question to facts; damping and solver are those of ppr."""

    facts: int = Field(5, ge=1, description="facts nearest to the question, and most phrases of theirs as seeds")
    fact_filter: bool = Field(True, description="with a model: it leaves out the facts that do not help")
    passage_weight: float = Field(
        0.05, ge=0, description="weight of the passages as seeds, by their closeness, against the phrases of the facts"
    )


class IrcotSettings(Section):
    """IRCoT: a model thinks sentence by sentence, and passages are looked up with each thought."""

    retriever: Literal["bm25", "dense", "hybrid", "rerank", "ppr", "ppr:hipporag1", "ppr:hipporag2"] = Field(
        "ppr", description="method that finds the passages for the question and for each thought"
    )
    max_steps: int = Field(4, ge=1, description="most thoughts, each one call of the model; the answer is one more")
    passages: int = Field(
        10, ge=1, description="best passages so far that each thought, and then the answer, is read from"
    )


class AnswerSettings(Section):
    """How an answer is made without a language model."""

    passages: int = Field(5, ge=1, description="best passages that an answer is read from")
    sentences: int = Field(3, ge=1, description="most sentences quoted in an answer")


class ConversationSettings(Section):
    """How a follow-up question is understood."""

    turns: int = Field(6, ge=0, description="last questions and answers that a follow-up is read with; 0: none")
    tokens: int = Field(2000, ge=64, description="most tokens of these")
    names: int = Field(2, ge=1, description="without a model: most names of earlier turns that a follow-up is given")


class GlobalSettings(Section):
    """Map-reduce over community reports."""

    level: Level = Field("c1", description="level of the hierarchy, c0 the coarsest")
    reports: int = Field(5, ge=1, description="without a model: most reports that the final answer rests on")
    quoted_words: int = Field(150, ge=10, description="without a model: most words that an answer quotes")
    least_support: float = Field(
        0.4,
        ge=0,
        description="without a model: least support of a question by the documents for which it is answered",
    )
    about_the_whole: float = Field(
        0.42,
        ge=0,
        le=1,
        description="without a model: least likeness to a typical question about a whole of one that is about it",
    )
    context_tokens: int = Field(
        8000, ge=256, description="most tokens of reports or passages that a model is shown in one call"
    )
    map_words: int = Field(500, ge=10, description="most words of the notes that a model takes from one such call")
    reduce_words: int = Field(1000, ge=10, description="most words of a model's final answer")
    dynamic_threshold: int = Field(
        1, ge=1, le=5, description="global:dynamic: least relevance, 0 to 5, of a report whose parts are looked into"
    )
    seed: int = Field(7, ge=0, description="seed of the order in which reports and passages are shown")


class LocalSettings(Section):
    """Local search: entities that belong to the question, what is known of them, and text."""

    entities: int = Field(10, ge=1, description="most entities linked to the question, by name, then by embedding")
    relations: int = Field(
        10, ge=0, description="for each linked entity: most relations to entities that are not linked, and most claims"
    )
    level: Level = Field("c2", description="deepest level that reports are taken from")
    context_tokens: int = Field(8000, ge=256, description="most tokens of reports, records and text that are read")
    report_share: float = Field(0.15, ge=0, le=1, description="most of these tokens that reports may take")
    text_share: float = Field(
        0.5, ge=0, le=1, description="least of these tokens that is left for text; the rest is for records"
    )
    words: int = Field(500, ge=10, description="most words of a model's answer")

    @model_validator(mode="after")
    def _shares_fit(self) -> "LocalSettings":
        if self.report_share + self.text_share > 1:
            raise ValueError("report_share and text_share are more than 1 together")
        return self


class DriftSettings(Section):
    """DRIFT: a first answer from reports, then follow-up questions that local search answers."""

    reports: int = Field(20, ge=1, description="reports nearest to the question that the first answer is made from")
    folds: int = Field(2, ge=1, description="calls that these reports are divided among")
    follow_ups: int = Field(5, ge=0, description="most follow-up questions answered in one round")
    rounds: int = Field(2, ge=0, description="rounds of follow-up questions")
    context_tokens: int = Field(
        8000, ge=256, description="most tokens of reports in one call, and of notes in the last one"
    )
    words: int = Field(1000, ge=10, description="most words of a model's final answer")


class FastTogSettings(Section):
    """FastToG: chains of communities over a knowledge graph."""

    width: int = Field(3, ge=1, description="chains of communities, and most communities picked at the start")
    max_depth: int = Field(5, ge=0, description="most rounds after the start, in each of which a chain takes one step")
    max_hops: int = Field(3, ge=1, description="how far around a community the subgraph reaches that is searched")
    rho: float = Field(
        0.5, gt=0, le=1, description="an entity n hops away is in the subgraph with this probability to the power n - 1"
    )
    max_nodes: int = Field(100, ge=1, description="most entities of the subgraph")
    detection: Literal["louvain", "girvan_newman", "agglomerative", "spectral", "random", "hierarchy"] = Field(
        "louvain",
        description="how the subgraph is divided; `hierarchy` takes the index's own communities, `random` is a control",
    )
    max_community_size: int = Field(4, ge=1, description="most entities of a community")
    coarse: Literal["modularity", "random"] = Field(
        "modularity", description="which communities are kept to choose from; `random` is a control"
    )
    coarse_k: int = Field(8, ge=1, description="how many of them")
    semantic_weight: float = Field(
        0.0,
        ge=0,
        description="weight of an edge's closeness to the question beside its 1 in the detection, and of a "
        "community's best triple beside its modularity where communities are pruned; 0: structure alone",
    )
    text: Literal["t2t", "g2t"] = Field(
        "t2t", description="with a model: communities as their triples, or as the text that `graph2text` makes of them"
    )
    graph2text: str = Field("", description="folder of a model that `conspectus train graph2text` made, for g2t")
    max_tokens: int = Field(1024, ge=16, description="with a model: most tokens of a reply")
    fallback: Literal["io", "cot", "cot_sc"] = Field(
        "io",
        description="with a model: how a question is answered from what the model knows, where the walk finds none",
    )
    seed: int = Field(7, ge=0, description="seed of the sampled subgraphs, of detection and of random pruning")


class KapingSettings(Section):
    """KAPING, and the facts of cok and kgp: the triples around the topics that are nearest to the question."""

    hops: int = Field(2, ge=1, description="how far from the topics triples are taken")
    triples: int = Field(10, ge=1, description="nearest triples that an answer is read from")
    candidates: int = Field(
        64, ge=1, description="most triples that are compared word by word: those of the nearest predicates"
    )


class KgpSettings(Section):
    """KGP's one step: groups of neighbours."""

    hops: int = Field(2, ge=1, description="how far from the topics neighbours are taken")
    max_nodes: int = Field(100, ge=1, description="most neighbours that are grouped")
    max_community_size: int = Field(4, ge=1, description="most entities of a group")
    groups: int = Field(3, ge=1, description="nearest groups that an answer is read from")
    seed: int = Field(7, ge=0, description="seed of which neighbours are taken, and of the grouping")


class GRetrieverSettings(Section):
    """G-Retriever: the connected part of the graph that is worth most to the question, as text."""

    top_k_nodes: int = Field(3, ge=0, description="nodes that get a prize: those the question names, then the nearest")
    top_k_edges: int = Field(
        15, ge=0, description="texts of edges that get a prize, which edges of one text share: the nearest"
    )
    edge_cost: float = Field(
        0.5,
        gt=0,
        description="what an edge takes, less where the best edge is worth less: how far to reach",
    )
    hops: int = Field(2, ge=1, description="how far from what the question names the subgraph may reach")
    fill: bool = Field(
        True, description="relations at what the question names, the closest, fill the room that is left"
    )
    context_tokens: int = Field(
        512, ge=64, description="most tokens of the subgraph as text; `triples` takes as many triples as these hold"
    )
    solver: Literal["auto", "own", "pcst_fast"] = Field(
        "auto", description="`auto` is pcst_fast where it is installed and right, otherwise our own solver"
    )
    prompt: Literal["zero_shot", "zero_cot", "cot_bag", "question_only"] = Field(
        "zero_shot",
        description="with a model: plain, step by step, building the graph first, or (a control) without the graph",
    )
    max_tokens: int = Field(512, ge=16, description="with a model: most tokens of a reply")
    decay: float = Field(
        0.5, ge=0, lt=1, description="in a conversation: what the prizes of earlier subgraphs are multiplied by"
    )
    candidates: int = Field(
        64, ge=1, description="triples: most triples without a vector of their own that are compared word by word"
    )


class TogSettings(Section):
    """ToG and ToG-2: a beam search over a knowledge graph, ToG-2's with the documents of what it finds."""

    width: int = Field(3, ge=1, description="entities that a round goes on from, and relations kept at each of them")
    depth: int = Field(3, ge=1, description="most rounds, each one step further from the topics")
    candidates: int = Field(50, ge=1, description="with a model: most entities looked at behind one relation")
    context_chunks: int = Field(
        10, ge=1, description="tog2: best chunks (or verbalised triples) that rank entities and are reasoned over"
    )
    alpha: float = Field(
        0.8, ge=0, description="tog2: how fast a chunk's weight falls with its rank: exp(-alpha rank), summed by entity"
    )
    relation_threshold: float = Field(
        0.2, ge=0, le=1, description="with a model: relations that it scores lower are dropped, on a scale from 0 to 1"
    )
    combined: bool = Field(True, description="tog2, with a model: relations of all entities in one call a round")
    clue: bool = Field(True, description="tog2: what is still to be found goes into the next round")
    topic_prune: bool = Field(True, description="tog2, with a model: it picks the entities to begin from")
    scorer: Literal["embedding", "rerank", "bm25", "model"] = Field(
        "embedding", description="tog2: what scores chunks; `rerank` is the cross-encoder of rerank.model"
    )
    first_stage: int = Field(
        0,
        ge=0,
        description="tog2: chunks that the embedding leaves to a finer scorer; 0: all that there are go to it",
    )
    task: Literal["qa", "claims", "slots"] = Field(
        "qa",
        description="walks, readers, io and cot, with a model: questions are asked, claims to be checked or slots to "
        "be filled; `evaluate` goes by the suite where it is `qa`",
    )
    self_consistency: int = Field(
        0, ge=0, description="tog2, with a model: samples asked for before the walk, to do without it; 0: none"
    )
    self_consistency_threshold: float = Field(
        0.8, ge=0, le=1, description="share of these samples that must agree; cot_sc takes the most frequent answer"
    )
    samples: int = Field(10, ge=1, description="cot_sc: samples of which the most frequent answer is given")
    max_tokens: int = Field(1024, ge=16, description="with a model: most tokens of a reply")


class RerankSettings(Section):
    """A cross-encoder that ranks candidates again."""

    model: str = Field(
        "", description="folder of a cross-encoder, or a model's name in the Hugging Face cache; empty: none"
    )
    candidates: Literal["bm25", "dense", "hybrid", "ppr"] = Field(
        "hybrid", description="method that finds the candidates"
    )
    pool: int = Field(50, ge=1, description="candidates that are ranked again; no more passages are found")


class SoftPromptSettings(Section):
    """A trained soft graph prompt."""

    folder: str = Field(
        "", description="what `conspectus train gretriever` made: the method gretriever then answers with it"
    )
    model: str = Field("", description="where its frozen model is today: a folder or a name; empty: where it was then")
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto", description="where the frozen model runs; `auto`: on CUDA where there is a device, else on the CPU"
    )
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="numbers of the frozen model; `auto`: bfloat16 on a CUDA device that has it, else float32"
    )


class CitationSettings(Section):
    """How the citations of an answer are checked, sentence by sentence."""

    unsupported: Literal["mark", "drop", "keep"] = Field(
        "mark",
        description="what becomes of a sentence that nothing it cites supports: it is marked [unverified], left out, "
        "or kept as it is; it is counted in each case",
    )
    threshold: float = Field(
        0.6, ge=-1, le=1, description="least cosine of a sentence with what it cites (of the packaged encoder)"
    )
    ask_model: bool = Field(
        False,
        description="with a model: it judges, in a call for each sentence, whether what is cited supports it, in the "
        "place of the cosine",
    )


class AccessSettings(Section):
    """Which documents a question may be answered from, where they carry access tags."""

    key: str = Field("access", min_length=1, description="metadata key (a column of the input) that holds the tags")
    untagged: Literal["public", "denied"] = Field(
        "public", description="whether documents without a tag are for everybody or for nobody"
    )
    unasked: Literal["all", "untagged"] = Field(
        "all",
        description="where no tag is named: every document, or only those that a holder of no tag may read",
    )
    graph: Literal["public", "denied"] = Field(
        "public",
        description="whether what a graph alone states, which no document does, is for everybody or for nobody",
    )


class AskingSections(BaseModel):
    """The sections on how questions are answered.

    A new section is a class here and its line in `AskingSections`.
    """

    ppr: PprSettings = PprSettings()
    hipporag: HippoRagSettings = HippoRagSettings()
    ircot: IrcotSettings = IrcotSettings()
    rerank: RerankSettings = RerankSettings()
    answer: AnswerSettings = AnswerSettings()
    conversation: ConversationSettings = ConversationSettings()
    global_search: GlobalSettings = GlobalSettings()
    local_search: LocalSettings = LocalSettings()
    drift_search: DriftSettings = DriftSettings()
    kaping: KapingSettings = KapingSettings()
    kgp: KgpSettings = KgpSettings()
    fasttog: FastTogSettings = FastTogSettings()
    tog: TogSettings = TogSettings()
    gretriever: GRetrieverSettings = GRetrieverSettings()
    soft_prompt: SoftPromptSettings = SoftPromptSettings()
    citations: CitationSettings = CitationSettings()
    access: AccessSettings = AccessSettings()
