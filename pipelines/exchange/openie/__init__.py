"""Import and export open information extraction results."""
