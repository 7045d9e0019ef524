"""How well users' queries are covered by the corpus, and stand in the evaluation set."""
