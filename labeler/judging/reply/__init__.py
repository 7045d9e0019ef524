"""What a model's reply says."""
