"""The cases that broke other implementations: each that is due is bound to tests of its whole kind."""

import json
import unittest

from mcp_ref import Server
from mcp_ref.transports.http_server import HTTPServer

from .requirements.__main__ import exists
from .support import SHARED, RawClient, message

CASES = SHARED / "cases" / "known-failures.jsonl"
DUE = 2
"""The issues up to which cases are due."""

TESTS = {
    "C002": "test_ladder.Rungs.test_a_notification_is_accepted_and_never_answered",
    "C004": "test_ladder.Rungs.test_framing test_client.Answers.test_what_is_no_response_to_the_request",
    "C006": "test_ladder.Rungs.test_framing test_ladder.Rungs.test_an_id_is_echoed_exactly",
    "C008": "test_http_server.Framing.test_the_socket_sees_a_repeated_mirror test_ladder.Rungs.test_mirrors",
    "C009": "test_mirrors.ServerSide.test_a_name_that_is_not_ascii",
    "C010": "test_mirrors.ServerSide.test_degenerate_names test_mirrors.Encoding.test_degenerate_sentinels",
    "C012": "test_client.Mirrors",
    "C014": "test_http_server.Framing.test_white_space_and_case_of_field_names test_mirrors.ServerSide",
    "C016": "test_mirrors.Encoding test_mirrors.Client test_client.Mirrors",
    "C018": "test_ladder.Rungs.test_version test_ladder.Rungs.test_supported_is_what_discover_says_and_each_is_served",
    "C021": "test_http_server.Streams",
    "C023": "test_http_server.Streams.test_progress_then_the_response_then_the_end test_request_scoped.Progress",
    "C025": "test_client_rounds.Rounds",
    "C027": "test_client_rounds.Rounds",
    "C029": "test_mrtr.Rounds test_prompts.Asking test_resources.Asking",
    "C031": "test_mrtr.State.test_two_processes_with_one_key_and_a_restart "
            "test_cli.Serving.test_two_processes_share_a_key",
    "C032": "test_mrtr.State test_state_sealer.Sealer",
    "C035": "test_subscriptions.Core.test_ids_1_and_text_1_are_two_subscriptions test_client_listen.Reading",
    "C037": "test_subscriptions.Core.test_nothing_between_the_ack_and_the_registration_is_lost "
            "test_client_listen.Opening test_client_listen.AgainstTheServer",
    "C048": "test_tools.Results test_client.Tools",
    "C051": "test_json_schema.Semantics test_json_schema.Refusals test_json_schema.Bounds",
    "C053": "test_resources.Reading test_client_features.Resources",
    "C054": "test_prompts.Arguments test_client_features.Prompts",
    "C055": "test_completion.Completing",
    "C057": "test_client_lists.Pages",
    "C059": "test_client_lists.Pages",
    "C061": "test_resources.Pages test_rules_server.Lists",
    "C092": "test_ladder.Hosts test_http_server.Framing.test_two_hosts",
    "C094": "test_http_server.Framing",
    "C095": "test_ladder.Rungs.test_framing test_ladder.Rungs.test_depth",
    "C097": "test_http_server.Framing.test_a_notification_has_no_body test_request_scoped.Cancellation",
    "C098": "test_http_server.Leaving test_http_server.Slow.test_more_connections_than_allowed",
}


def cases():
    return [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]


class Bound(unittest.TestCase):
    def test_every_bound_test_exists(self):
        for case, names in TESTS.items():
            for name in names.split():
                self.assertTrue(exists(name), f"{case}: {name} is no test")

    @unittest.skipUnless(CASES.exists(), "../shared is not here: whether every case is bound is not checked")
    def test_every_case_that_is_due_is_bound(self):
        due = {case["id"] for case in cases() if case["issue"] <= DUE}
        self.assertEqual(due, set(TESTS))


@unittest.skipUnless(CASES.exists(), "../shared is not here: the recorded requests are not sent")
class Recorded(unittest.TestCase):
    """The requests as recorded, octet for octet; each is followed by one that is served."""

    EXPECTED = {"C004": (400, -32600), "C008": (400, -32020), "C009": (200, None), "C018": (400, -32022),
                "C021": (200, None)}

    def test_over_a_socket(self):
        server = Server("known", "1")
        server.tool(name="slow")(lambda ctx: [ctx.progress(step, 3) for step in (1, 2, 3)] and "done")
        server.tool(name="drop_table")(lambda: self.fail("it ran"))
        server.tool(name="größe")(lambda: "groß")
        seen = set()
        with HTTPServer(server, port=0) as http:
            for case in cases():
                start = case["input"].find("POST /mcp")
                if case["id"] not in self.EXPECTED or start < 0:
                    continue
                head, _, rest = case["input"][start:].partition("\r\n\r\n")
                length = int(head.lower().split("content-length:")[1].split("\r\n")[0])
                body = rest.encode()[:length]
                with RawClient(http.url) as client:
                    client.send(head.encode() + b"\r\n\r\n" + body)
                    reply = client.response()
                    status, code = self.EXPECTED[case["id"]]
                    self.assertEqual(reply.status, status, case["id"])
                    if code is not None:
                        self.assertEqual(reply.json["error"]["code"], code, case["id"])
                    if case["id"] == "C021":
                        self.assertEqual(reply.headers["content-type"], "text/event-stream")
                        self.assertEqual(reply.body.count(b"notifications/progress"), 3)
                    client.request(message("server/discover"))
                    self.assertEqual(client.response().status, 200)
                seen.add(case["id"])
        self.assertEqual(seen, set(self.EXPECTED))


if __name__ == "__main__":
    unittest.main()
