"""Online measures: what users clicked, read with their attention to ranks in mind."""
