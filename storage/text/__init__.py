"""Text processing shared by indexing and querying: tokens, sentences, names, BM25."""
