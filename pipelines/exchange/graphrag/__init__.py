"""Import from and export to the tables of Microsoft GraphRAG."""
