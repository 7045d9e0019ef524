"""Public collections: their recipes, their files and how these are read."""
