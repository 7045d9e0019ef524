"""The embedded model: its file, the process that serves it, and what its labels are worth."""
