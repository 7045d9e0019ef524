"""Runs: retrieved, fused, re-ranked, rewritten and counted."""
