"""Ways to answer a question from evidence, one a file."""
