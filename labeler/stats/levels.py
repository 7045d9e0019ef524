"""The levels at which everything is said: intervals of 95 %, tests at 5 %."""

LEVEL = 0.95
"""The share of intervals that should hold the truth."""
SIGNIFICANT = 0.05
"""Below this p a difference is told from chance."""
NORMAL_QUANTILE = 1.9599639845400536
"""The normal's quantile at `0.5 + LEVEL / 2`: importing `statistics` for it costs more time."""
