"""Judge drift: what the controls of a set of judgements say over time."""
