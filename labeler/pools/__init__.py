"""Pools: the pairs to judge."""
