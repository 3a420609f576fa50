"""Read input files as rows of text: one module per format, and guards against hostile files."""
