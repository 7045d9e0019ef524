"""What unjudged documents could do to a score."""
