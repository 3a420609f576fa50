"""Extract entities, relations and claims by an NLP pipeline, a language model, or open information extraction."""
