"""Retrieval test collections with an LLM as the relevance assessor."""

__version__ = "0.1.0"
