"""Search: indexes, encoders, engines."""
