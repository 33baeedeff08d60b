"""`python -m mcp_ref`."""

import sys

try:
    from .cli import main

    status = main()
except KeyboardInterrupt:  # while the modules were still being loaded
    status = 130
sys.exit(status)
