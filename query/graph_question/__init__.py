"""Natural-language questions to a knowledge graph: parse the question, enumerate candidate queries, pick the best."""
