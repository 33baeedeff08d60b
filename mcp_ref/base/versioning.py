"""basic/versioning, Protocol Version Negotiation: every request names its version, in `_meta` and in a header.

The version rung of the ladder asks for it, and the ids stand there.
"""

from __future__ import annotations

from typing import Sequence

RELEASE = "0.3.0"
"""The version of this package."""
LATEST = "2026-07-28"
MODERN = (LATEST,)
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The revisions that begin with initialize, the newest first; they compare as texts."""
ERAS = ("dual", "modern", "legacy")
"""What a server serves: both eras, each message by itself, or one of them."""
HEADER = "mcp-protocol-version"


def initialize_hint(versions: Sequence[str], era: str = "modern") -> str:
    """What any refusal of `initialize` ends with, since a legacy client can only show it to its user (VERS-10)."""
    names = ", ".join(versions)
    if era == "dual":
        return (f"This server implements the {names} stateless protocol, by server/discover, and {LEGACY[0]} and "
                "before by plain initialize, without _meta and header of the former.")
    return f"This server implements the {names} stateless protocol; send server/discover instead of initialize."
