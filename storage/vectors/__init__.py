"""Vector indexes on disk and in memory, with nearest-neighbour search."""
