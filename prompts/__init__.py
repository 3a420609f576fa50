"""Prompts, model clients, and parsers of replies."""
