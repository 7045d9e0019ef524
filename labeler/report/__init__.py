"""What results look like: one table, one finding, and every form in which they are shown."""
