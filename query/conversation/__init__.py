"""Multi-turn questions: conversation history, follow-up detection and query rewriting."""
