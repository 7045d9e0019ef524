"""Scores of groups of queries: the worst of them, gates on them, and runs compared by them."""
