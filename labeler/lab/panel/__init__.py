"""Panels: several assessors' grades put together into one, and what that is worth beside people."""
