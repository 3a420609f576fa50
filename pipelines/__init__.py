"""Offline: documents in, a published index out."""
