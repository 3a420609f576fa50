"""The question: terms, entity links, topics and scope."""
