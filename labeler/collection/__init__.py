"""A collection directory: each file in it is read and written by the module of its name."""
