"""Judging by partitions: a pool cut into files that workers on other machines judge."""
