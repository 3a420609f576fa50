"""SPARQL 1.1 over the graph of an index."""
