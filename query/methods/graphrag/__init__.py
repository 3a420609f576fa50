"""The methods of GraphRAG: global, local, DRIFT and naive vector search."""
