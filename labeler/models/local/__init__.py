"""Processes on this machine: the one that serves the embedded LLM, and pip for files of models."""
