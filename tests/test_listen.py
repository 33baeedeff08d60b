"""basic/patterns/subscriptions, subscriptions/listen: what it is asked, and what it leaves behind."""

import unittest
from unittest import mock

from mcp_ref import Server
from mcp_ref.base.request import Head, Request
from mcp_ref.lib.strict_json import encode
from mcp_ref.patterns import subscriptions
from mcp_ref.patterns.notifications import Cancelled
from mcp_ref.patterns.subscriptions import MAX_FILTER, MAX_ID
from mcp_ref.transports.endpoint import Endpoint

from .support import Timed, headers, message, post


class Subscribing(Timed):
    def setUp(self):
        self.server = Server("hard", "1")
        for number in range(4):
            self.server.add_resource_template(f"a://{{x}}/{{y}}/{number}", lambda x, y: x)

    def listen(self, uris, id=1):
        wanted = {"notifications": {"resourceSubscriptions": uris}}
        return post(self.server, message("subscriptions/listen", wanted, id))

    def test_more_than_could_be_acknowledged_is_refused_and_not_matched(self):
        for uris in (["a://x/y" + "z" * MAX_FILTER], [f"a://{number}/{'é' * 4000}/no" for number in range(150)]):
            reply = self.soon(self.listen, uris)
            self.assertEqual((reply.status, reply.error["code"]), (400, -32602))
        self.assertEqual(self.listen(["a://x/y/0"], "i" * MAX_ID).error["code"], -32602)
        self.assertEqual(len(self.server.subscriptions), 0)

    def test_what_is_granted_at_most_is_acknowledged(self):
        wanted = {"resourceSubscriptions": ["é" * (MAX_FILTER // 6 - 2)]}
        made = self.server.subscriptions.open("i" * (MAX_ID - 2), wanted, [])
        self.assertFalse(made.overrun)
        self.assertEqual(len(made.take()), 1)

    def test_what_all_of_them_are_granted_is_bounded(self):
        with mock.patch.object(subscriptions, "MAX_FILTERS", 3_000):
            hub = self.server.subscriptions
            self.server.add_resource_template("b://{x}", lambda x: x)
            for number in range(2):
                self.assertEqual(self.listen(["b://" + "x" * 1_000], number).status, 200)
            refused = self.listen(["b://" + "x" * 1_000], 3)
            self.assertEqual((refused.status, refused.error["data"]), (503, {"limit": hub.limit}))
            next(iter(hub.streams)).close()
            next(iter(hub.streams)).end()
            self.assertEqual((len(hub), hub.kept), (0, 0))
            self.assertEqual(self.listen(["b://" + "x" * 2_000], 4).status, 200)

    def test_a_client_that_left_meanwhile_leaves_no_subscription(self):
        raw = encode(message("subscriptions/listen", {"notifications": {"resourcesListChanged": True}}))
        head = Head("POST", "/mcp", {**headers({"method": "subscriptions/listen"}), "content-length": str(len(raw))})
        request = Request(lambda: raw, head, None, Endpoint())
        opened = self.server.subscriptions.open

        def leaving(*arguments):
            request.cancelled = True
            return opened(*arguments)
        with mock.patch.object(self.server.subscriptions, "open", leaving):
            self.assertRaises(Cancelled, self.server.handle, request)
        self.assertEqual(len(self.server.subscriptions), 0)


if __name__ == "__main__":
    unittest.main()
