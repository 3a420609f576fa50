"""Hipporag."""
