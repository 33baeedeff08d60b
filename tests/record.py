"""The record of a run: the rung, status and code of every exchange that a server of this process had in any test.

Held against the ladder's table when all tests are over: an exchange that its row does not list is a fault of the row or
of the code, and so is an answer of a row that no test ever saw. It is heard where every request ends, `serve._tell`.
"""

import json
import unittest
from typing import Any, Dict, List, Optional, Tuple

from mcp_ref import serve
from mcp_ref.base.errors import RESERVED
from mcp_ref.ladder import ASIDE, HANDLER, LADDER, LEGACY, SERVED

Exchange = Tuple[str, int, Optional[int]]

TELL = serve._tell
SEEN: Dict[Exchange, str] = {}
"""Each kind of exchange, and the request that showed it first. Threads share it: one write of a key each."""
LISTED = {(rung.name, *row[:2]) for rung in (*LADDER, HANDLER, *LEGACY, SERVED, ASIDE)
          for row in rung.answers}
LISTED.update(([rung.name for rung in rungs if rung.notifications][-1], 202, None) for rungs in (LADDER, LEGACY))


def begin() -> None:
    """Hear every exchange from now on."""
    def heard(state: Any, request: Any, failure: Any, answer: Any, began: float) -> None:
        if answer is not None:
            SEEN.setdefault(exchange(request, answer), f"{request.method} of {state.name}")
        TELL(state, request, failure, answer, began)

    serve._tell = heard


def exchange(request: Any, answer: Any) -> Exchange:
    """What a row of the ladder lists, of one request. A code of the application's own counts as none."""
    body = json.loads(answer.body) if answer.body else {}
    body = {} if isinstance(body, list) else body  # the answers of a batch, each of which is one of a single message
    code = body["error"]["code"] if isinstance(body.get("error"), dict) else None
    listed = (request.rung, answer.status, code)
    own = code is not None and listed not in LISTED and not RESERVED[0] <= code <= RESERVED[1]
    return (request.rung, answer.status, None) if own else listed


class Ladder(unittest.TestCase):
    """Run last, when every test has had its exchanges."""

    def test_every_exchange_is_one_that_its_row_lists(self) -> None:
        self.assertEqual({kind: seen for kind, seen in SEEN.items() if kind not in LISTED}, {})

    def test_every_answer_of_a_row_was_seen(self) -> None:
        self.assertEqual(LISTED - set(SEEN), set())


def tests(whole: bool) -> List[unittest.TestCase]:
    """What to run after all others. whole: whether they were all of them."""
    first, second = map(Ladder, unittest.defaultTestLoader.getTestCaseNames(Ladder))
    return [second, first] if whole else [second]
