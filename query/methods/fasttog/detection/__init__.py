"""Community detection in small graphs, none of whose communities may pass a size: how FastToG finds its steps."""
