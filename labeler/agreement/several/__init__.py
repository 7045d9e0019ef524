"""Assessors beside each other: jointly, people against people, and who copies whom."""
