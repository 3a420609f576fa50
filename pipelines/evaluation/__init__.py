"""Evaluate methods on question sets."""
