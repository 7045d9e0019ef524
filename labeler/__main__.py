"""The command line, as `labeler` and as `python -m labeler`."""

import signal


def main() -> None:
    """The console script's entry; nothing is lost where Ctrl-C ends it while modules are loaded."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from labeler.cli import main as run

    run()


if __name__ == "__main__":
    main()
