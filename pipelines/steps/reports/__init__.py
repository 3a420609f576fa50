"""Reports on communities: by a language model from the records of the graph, or quoted from the documents."""
