"""What one collection says, gathered into one page."""
