"""Words, sentences, terms and vectors of texts."""
