"""Metadata filters and access control: expressions, and filtered views of an index."""
