"""Grades to probabilities that hold: fitted to people's grades, checked by query, applied."""
