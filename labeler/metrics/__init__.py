"""Measures of a ranking against qrels: pure functions in a registry."""
