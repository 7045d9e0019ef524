"""The laboratory of assessors: choosing, combining, checking and calibrating them."""
