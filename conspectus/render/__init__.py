"""Results as text, JSON and drawings."""
