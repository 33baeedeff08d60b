"""basic/patterns/cancellation: a handler learns that nobody waits for its answer.

Implements CANC-04, CANC-15 to CANC-17, HTTP-20 to HTTP-22.
"""

from __future__ import annotations


class Cancelled(BaseException):
    """Ends a handler whose request was cancelled; raised by `ctx.check_cancelled()` and by whatever sends.

    It derives from BaseException so that a handler's `except Exception` does not carry on with work nobody wants.
    """
