"""File formats: one reader and one writer each."""
