"""What exists when nothing is running: settings, records, the index on disk, and the mathematics of the graph."""
