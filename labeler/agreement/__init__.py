"""How far two sets of labels agree: statistics of contingency tables, and intervals over queries."""
