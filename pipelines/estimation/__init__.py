"""What indexing will take, before any server is asked: the steps of a build, run with a model that only counts."""
