"""Everything said to a model, how it is sent, and how its answer is read."""
