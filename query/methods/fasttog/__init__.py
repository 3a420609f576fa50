"""Fasttog."""
