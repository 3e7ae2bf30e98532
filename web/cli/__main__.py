"""`python -m web.cli` is `medley`."""

from web.cli.main import main

if __name__ == "__main__":
    main()
