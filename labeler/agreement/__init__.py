"""Statistics of agreement between assessors: pure functions in a registry."""
