"""Filter."""
