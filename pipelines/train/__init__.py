"""Training of small models that methods use."""
