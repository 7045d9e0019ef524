"""Searching the documents of a collection: what is searched, its indexes, and who ranks."""
