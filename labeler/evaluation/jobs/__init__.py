"""Many items worked on by several processes: the one that shares out, and those that work."""
