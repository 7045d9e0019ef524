"""What changed between two sets of grades, and whether it brought them closer to people."""
