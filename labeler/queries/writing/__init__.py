"""Writing queries: which is next, what the model is asked, and which candidates are kept."""
