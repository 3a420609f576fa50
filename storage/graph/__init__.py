"""Graph algorithms on arrays: PageRank, Leiden, Steiner trees. No models, settings or tables."""
