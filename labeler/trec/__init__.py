"""TREC's qrels and runs: exact readers, fast readers and writers."""
