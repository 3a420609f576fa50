"""Plan relation paths first and then look them up in the graph; find paths between two things."""
