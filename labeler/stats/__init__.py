"""Resampling, intervals, tests, correlation, power and prediction-powered means; each once.

- `levels`: the confidence level of every interval and the significance level of every test.
- `resampling`: queries drawn with replacement, and all queries but one.
- `intervals`: intervals of whatever is a function of sums over queries.
- `means`: intervals of a mean over queries, within the range of a measure.
- `shares`, `query_shares`: intervals of a share of queries, also of weighted or stratified ones.
- `associations`: whether two values of a query go together over queries.
- `drift`: whether values change over time.
- `families`: verdicts on families of comparisons, with intervals that agree with them.
- `unseen`: what a few queries do not show of all.
- `rankings`: intervals of how alike two rankings of systems are.
- `randomization`: tests of paired differences, and corrections for many of them.
- `blocks`, `blocked`, `sides`, `distances`: two samples in blocks, as searches by day or session.
- `logistic`: logistic regression.
- `sequential`: bounds of a sum over some values that hold at every look while these are drawn.
- `student`, `power`, `correlation`, `ppi`: Student's t, sample sizes, rankings, corrected means.
"""
