"""Openie."""
