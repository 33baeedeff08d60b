"""`python -m mcp_ref`."""

import sys

if __name__ == "__main__" and not __package__:  # the folder was given to Python as a program
    sys.exit("this is a package: python3 -m NAME, where NAME is the folder's, from the folder that holds it")
try:
    from .cli import main

    status = main()
except KeyboardInterrupt:  # while the modules were still being loaded
    status = 130
sys.exit(status)
