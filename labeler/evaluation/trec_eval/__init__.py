"""trec_eval's program: its measures under its names, its arguments and its output."""
