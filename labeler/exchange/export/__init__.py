"""A test collection in the files of other tools, one module for each kind of tool."""
