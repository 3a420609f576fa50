"""The mathematics of the graph: arrays in, arrays out; no models, no settings, no tables."""
