"""Questions to a knowledge graph as people ask them: what is asked for, which conditions, and the best query."""
