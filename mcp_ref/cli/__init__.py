"""The command line: `python -m mcp_ref COMMAND …`. Nothing of the protocol is in here, and nothing else imports it."""

from .program import main

__all__ = ["main"]
