"""Backends of indexing: extraction, descriptions, communities and reports by an NLP pipeline, a model, or files."""
