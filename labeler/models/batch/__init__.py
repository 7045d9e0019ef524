"""OpenAI's Batch API: requests in files, answered within a day at half the price."""
