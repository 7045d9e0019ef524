"""What the journals say of the people who graded: how far they are, how they agree, and whether
their grades or their pace changed.

- `journals`: every rater's answers that stand.
- `agreement`: with the other raters, and with pairs whose right grade is known.
- `drift`: whether grades, strictness or pace change over time.
- `patterns`: what a reader of the grades should know of how they were given.
- `status`: all of it, for each rater (`rater`), as `tables`.
"""
