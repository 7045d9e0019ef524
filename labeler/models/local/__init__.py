"""The embedded model: its file, the process that serves it, and how far to trust its grades."""
