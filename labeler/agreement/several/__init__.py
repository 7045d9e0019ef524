"""Assessors beside each other: jointly, and people against people."""
