"""Import knowledge graphs from RDF, GraphML, Wikidata and triple files."""
