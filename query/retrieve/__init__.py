"""Ways to find passages for a question, one a file."""
