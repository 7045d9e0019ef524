"""Which pairs a person should look at, and what that is expected to bring."""
