"""Judging by batches: requests handed over in files, and answered within a day for less."""
