"""The same systems by two sets of qrels: leaderboards, swaps, and what an assessor favors."""
