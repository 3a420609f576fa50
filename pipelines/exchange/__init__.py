"""Import and export: GraphRAG tables, knowledge graphs, OpenIE results, CSV, GraphML and N-Triples."""
