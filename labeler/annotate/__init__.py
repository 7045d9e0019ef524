"""A page on which people grade, compare and look at runs, each answer written at once."""
