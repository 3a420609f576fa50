"""Graphqa."""
