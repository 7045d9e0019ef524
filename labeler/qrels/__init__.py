"""What people do with qrels: count, check, compare and change them."""
