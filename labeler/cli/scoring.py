"""What commands that score runs share: the headings of options, and some of these."""

from __future__ import annotations

from labeler.options import Option

TABLES, GATES = "Tables", "Gates"
PLOT = Option("Draw it (.png, .svg, .pdf).", flags="--plot", metavar="FILE", panel=TABLES)
PER_QUERY = Option("Add each query's scores.", panel=TABLES)
