"""Passage retrieval by personalized PageRank, with pair scores and a second hop."""
