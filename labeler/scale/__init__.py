"""Judging past one machine or one sitting: batches of a provider, partitions for workers."""
