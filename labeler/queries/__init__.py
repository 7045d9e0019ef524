"""Queries: written by a model, and filtered."""
