"""Policies around a model: functions that take a model and return one."""
