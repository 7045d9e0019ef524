"""People's labels: pairs drawn, sheets written, grades taken in."""
