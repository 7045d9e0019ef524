"""What a document can talk an assessor into, and what moves its grades though it should not."""
