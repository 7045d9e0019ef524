"""Bytes on disk and from elsewhere: read, written whole or not at all, and kept."""
