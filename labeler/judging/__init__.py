"""Judging: prompts rendered, a model asked, replies read, judgements written."""
