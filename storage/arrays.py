"""What NumPy raises for files that are no arrays, or that say of themselves what cannot be."""

from tokenize import TokenError

NO_ARRAY = (OSError, ValueError, TypeError, KeyError, EOFError, MemoryError, OverflowError, RecursionError, TokenError)
"""A header is Python text: it may be cut off (TokenError), nested, or name sizes beyond all memory."""
