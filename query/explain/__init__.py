"""Explanations of retrieval results: score parts for every passage, and paths for graph walks."""
