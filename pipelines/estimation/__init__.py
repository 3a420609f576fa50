"""What indexing with a model will take, before it is asked: the build rehearsed with made-up replies."""
