"""Resampling, intervals, tests, correlation, power and prediction-powered means."""
