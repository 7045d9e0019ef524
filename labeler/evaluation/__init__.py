"""Scoring, comparing and correcting runs."""
