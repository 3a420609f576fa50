"""Soft."""
