"""Settings of earlier versions, and what replaced each: for the message about a removed key."""

_FIXED = "is no longer a setting: it is always {}"
_FOLDED = "is no longer a setting: {}"

REMOVED = {
    "kg.embedded_entities": _FIXED.format("10000"),
    "descriptions.summary_words": _FIXED.format("150"),
    "vectors": "is no longer a section: up to 200,000 rows search is exact, beyond that codes propose what is compared",
    "synonyms.max_neighbours": _FIXED.format("50"),
    "synonyms.exact_rows": _FIXED.format("50000"),
    "communities.randomness": _FIXED.format("0.001"),
    "communities.most_relations": _FIXED.format("1500000"),
    "hipporag.passage_weight": _FIXED.format("0.05"),
    "global_search.map_words": _FIXED.format("500"),
    "global_search.seed": _FIXED.format("7"),
    "local_search.report_share": _FIXED.format("0.15"),
    "local_search.text_share": _FIXED.format("0.5"),
    "kaping.candidates": _FIXED.format("64"),
    "kgp": "is no longer a section: the method is called groups and reads 3 groups of 4 neighbours within 2 hops",
    "fasttog.semantic_weight": _FOLDED.format("communities are found by structure alone"),
    "fasttog.max_tokens": _FIXED.format("1024"),
    "fasttog.text": _FOLDED.format("fasttog.graph2text is used wherever it names a folder"),
    "tog.candidates": _FIXED.format("50"),
    "tog.relation_threshold": _FIXED.format("0.2"),
    "tog.topic_prune": _FOLDED.format("a model always chooses the topics of tog2"),
    "tog.first_stage": _FOLDED.format("tog.scorer scores all chunks"),
    "tog.self_consistency_threshold": _FIXED.format("0.8"),
    "tog.max_tokens": _FIXED.format("1024"),
    "gretriever.max_tokens": _FIXED.format("512"),
    "gretriever.decay": _FIXED.format("0.5"),
    "gretriever.candidates": _FIXED.format("64"),
    "train_gretriever.dropout": _FIXED.format("0"),
    "train_gretriever.lora_dropout": _FIXED.format("0.05"),
    "train_gretriever.warm_up": _FIXED.format("1"),
    "build.retries": _FIXED.format("2"),
}
"""What replaced each removed key or section, by `section.key` or `section`."""
