"""A wiki of an index: Markdown pages with links and sources."""
