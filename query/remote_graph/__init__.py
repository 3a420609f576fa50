"""Graphs behind a SPARQL endpoint: walked live, or read around the entities that a question names."""
