"""Tune the prompts of indexing to a corpus from a sample of its texts."""
