"""Many prompts and models on the pairs that people judged: which agrees with them best."""
