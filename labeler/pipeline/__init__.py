"""From documents to judged collections in one call."""
