"""Corpus drift: documents that changed, came or went since pairs were judged."""
