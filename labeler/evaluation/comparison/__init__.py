"""Runs against each other, query by query: differences, tests, and margins that are held."""
