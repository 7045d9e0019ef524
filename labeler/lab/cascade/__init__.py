"""A cheap assessor first, a strong one where it is unsure: thresholds, savings, what that loses."""
