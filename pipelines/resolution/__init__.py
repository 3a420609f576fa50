"""Aliases of one thing made one entity: which names are the same thing's, why, and what that changes."""
