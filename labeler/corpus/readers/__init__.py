"""Readers of documents: from a file of one kind to the blocks of its text."""
