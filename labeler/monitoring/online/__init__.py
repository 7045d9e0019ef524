"""Online measures: what users did with the results of their searches."""
