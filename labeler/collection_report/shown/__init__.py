"""The report of a collection as blocks of a page."""
