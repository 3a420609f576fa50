"""Subgraphs that answer: the connected part of a graph that a question calls for, told as text."""
