"""Reasoning walks on a knowledge graph: ToG, ToG-2, FastToG, and what they are measured against."""
