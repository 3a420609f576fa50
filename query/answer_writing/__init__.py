"""Readers: from passages or other material to an answer with citations."""
