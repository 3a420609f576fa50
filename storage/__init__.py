"""The storage layer: settings, records, the index on disk, and graph algorithms."""
