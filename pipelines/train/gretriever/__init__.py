"""Gretriever."""
