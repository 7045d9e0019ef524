"""Logs of users' searches and clicks: messy files of any size, read in bounded memory."""
