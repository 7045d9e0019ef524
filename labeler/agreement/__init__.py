"""How far labels agree: statistics of contingency tables, and intervals over queries."""
