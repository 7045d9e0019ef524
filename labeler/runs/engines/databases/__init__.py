"""Vectors in a database that others run: Qdrant, or PostgreSQL with pgvector."""
