"""`python -m labeler` is the command line."""

from labeler.cli import main

if __name__ == "__main__":
    main()
