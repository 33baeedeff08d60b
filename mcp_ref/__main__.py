"""`python -m mcp_ref`."""

import sys

from .cli import main

sys.exit(main())
