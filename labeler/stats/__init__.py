"""Resampling, intervals, tests, correlation, power and prediction-powered means; each once.

- `student`: Student's t and F, and the levels at which everything is said.
- `intervals`: queries drawn with replacement, and intervals of functions of sums over queries.
- `means`: intervals of shares and of means over queries, and what a few queries do not show of all.
- `families`: verdicts on families of comparisons, with intervals that agree with them.
- `correlation`: how alike two rankings of systems are, with intervals.
- `power`: how many queries a comparison needs, and tests against a margin.
- `sequential`: bounds of a sum over some values that hold at every look while these are drawn.
- `estimates`, `ppi`: means of people's scores, corrected by an assessor's.
- `drift`: whether values change over time.
- `regression`: ordered outcomes from what foretells them.
"""
