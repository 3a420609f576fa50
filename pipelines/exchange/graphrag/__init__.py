"""Graphrag."""
