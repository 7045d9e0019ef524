"""What comes from elsewhere: recipes of collections, downloads, the embedded model's file."""
