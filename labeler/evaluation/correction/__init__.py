"""Scores corrected by people's grades: estimates, intervals, and what to say beside them."""
