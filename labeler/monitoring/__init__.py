"""Whether yesterday's evaluation still describes today's search."""
