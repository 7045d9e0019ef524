"""Retrieval engines, one module each: documents and queries in, a run out."""
