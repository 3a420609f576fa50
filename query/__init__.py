"""Question answering: takes a question and an index, returns an answer with its evidence."""
