"""Online: a question and an index in, an answer with its evidence out."""
