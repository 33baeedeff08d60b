"""The client answers what a server asks: each round, and what may not be asked or answered."""

import threading
import unittest
from typing import Any, Dict, List, Tuple
from unittest import mock

from mcp_ref.base.errors import InvalidParams, Timeout, TooManyRounds, TransportError
from mcp_ref.client import rounds as rounds_module
from mcp_ref.client.elicitation import accept, cancel, decline
from mcp_ref.transports import calls
from tests.stub_http import ClientCase, asks, question, said
from tests.support import Clock

from .support import proves


@proves("C025", "C027")
class Rounds(ClientCase):
    @proves("BASE-09")
    def test_each_leg_has_only_its_own_answers_and_state(self) -> None:
        script = [asks({"a": question()}, "S1"), asks({"b": question()}), said("done")]  # C025
        with self.talk(*script, on_elicit=lambda params: accept({"name": "Ada"})) as (stub, client):
            made = client.call_tool("wizard", {"x": 1}, meta={"com.example/k": "v"}, on_progress=lambda *_: None)
        self.assertEqual(made["content"][0]["text"], "done")
        first, second, third = (seen.params for seen in stub.seen)
        answer = {"action": "accept", "content": {"name": "Ada"}}
        self.assertEqual((second["inputResponses"], second["requestState"]), ({"a": answer}, "S1"))
        self.assertEqual(third["inputResponses"], {"b": answer})
        self.assertNotIn("requestState", third)
        for name in ("name", "arguments", "_meta"):
            self.assertEqual(first[name], second[name])
            self.assertEqual(first[name], third[name])
        self.assertEqual(len({seen.message["id"] for seen in stub.seen}), 3, "MRTR-22")

    def test_answers_given_by_the_caller_belong_to_the_first_leg(self) -> None:
        given = {"name": "t", "inputResponses": {"x": {"action": "decline"}}, "requestState": "S0"}
        with self.talk(asks({"a": question()}), said(), on_elicit=lambda params: None) as (stub, client):
            client.request("tools/call", given)
        self.assertEqual(stub.seen[0].params["requestState"], "S0")
        self.assertEqual(stub.seen[1].params["inputResponses"], {"a": {"action": "decline"}})
        self.assertNotIn("requestState", stub.seen[1].params)

    def test_state_alone_is_retried_with_growing_pauses_and_a_bound(self) -> None:
        with self.talk(asks(state="again"), max_rounds=6) as (stub, client):  # C027
            with mock.patch.object(client._closed, "wait") as wait, self.assertRaisesRegex(TooManyRounds, "6 rounds"):
                client.call_tool("t")
        self.assertEqual([call.args[0] for call in wait.call_args_list], [0.05, 0.1, 0.2, 0.4, 0.8, 1.0])
        self.assertEqual(len(stub.seen), 7)
        self.assertEqual({seen.params.get("requestState") for seen in stub.seen[1:]}, {"again"})
        self.assertTrue(all("inputResponses" not in seen.params for seen in stub.seen))

    def test_the_timeout_bounds_the_rounds(self) -> None:
        with self.talk(asks(state="again"), max_rounds=1000) as (_, client), self.assertRaises(Timeout):
            client.call_tool("t", timeout=0.2)

    def test_a_user_who_takes_time_does_not_use_up_the_timeout(self) -> None:
        clock = Clock()

        def slow(params: Any) -> Any:
            clock.ahead += 1000
            return decline()

        with mock.patch.object(calls, "time", clock):
            with self.talk(asks({"a": question()}), said(), on_elicit=slow) as (_, client):
                client.call_tool("t", timeout=500)

    def test_closing_ends_the_wait(self) -> None:
        with self.talk(asks(state="again")) as (_, client):
            with mock.patch.object(rounds_module, "FIRST_PAUSE", 4.0):
                threading.Timer(0.1, client.close).start()
                with self.assertRaisesRegex(TransportError, "closed"):
                    client.call_tool("t")

    def test_what_a_server_may_not_ask(self) -> None:
        def never(*_: Any) -> Any:
            raise AssertionError("nobody may be asked")

        link = {"method": "elicitation/create", "params": {"mode": "url", "message": "m", "url": "https://x"}}
        unclear = {"type": "object", "properties": {"x": {"type": "string", "pattern": "("}}}
        nested = {"type": "object", "properties": {"o": {"type": "object"}}}
        cases: List[Tuple[Dict[str, Any], Any, str]] = [
            ({}, {"a": question()}, "elicitation/create form"),
            ({"on_elicit": never, "elicit_modes": ("form",)}, {"a": link}, "elicitation/create url"),
            ({"on_elicit": never}, {"b": {"method": "sampling/createMessage", "params": {}}}, "sampling/createMessage"),
            ({"on_elicit": never}, {"a": question(), "b": {"method": "roots/list"}}, "roots/list"),
            ({"on_elicit": never}, {"a": {"method": "tools/call"}}, "tools/call"),
            ({"on_elicit": never}, {"a": {}}, '"a"'), ({"on_elicit": never}, {"a": 7}, "no request object"),
            ({"on_elicit": never}, {"a": {"method": "elicitation/create", "params": []}}, "no request object"),
            ({"on_elicit": never}, {"a": question(nested)}, "field"),
            ({"on_elicit": never}, {"a": question({"type": "object", "properties": []})}, "requestedSchema"),
            ({"on_elicit": never}, {"a": question(unclear)}, "pattern"),
            ({"on_elicit": never}, [question()], "malformed")]
        for options, requests, words in cases:
            with self.subTest(words):
                self.refused(asks(requests), TransportError, words, **options)
        self.refused(asks(), TransportError, "neither")
        malformed: List[Any] = [7, 0, False, []]
        for bad in malformed:
            self.refused(asks(state=bad), TransportError, "malformed")
            self.refused(asks(bad, "S"), TransportError, "malformed")
        with self.talk(asks(state="x")) as (_, client), self.assertRaisesRegex(TransportError, "may not"):
            client.discover()

    def test_what_a_callback_may_return(self) -> None:
        schema = {"type": "object", "properties": {"name": {"type": "string", "default": "Bob"},
                                                   "age": {"type": "integer", "minimum": 0}}, "required": ["name"]}
        cases: List[Tuple[Any, Any]] = [
            ({"name": "Ada"}, {"action": "accept", "content": {"name": "Ada"}}),
            ({"age": 3}, {"action": "accept", "content": {"name": "Bob", "age": 3}}),
            (accept(), {"action": "accept", "content": {"name": "Bob"}}),
            ({"action": "accept", "content": {"age": 1}}, {"action": "accept", "content": {"name": "Bob", "age": 1}}),
            (None, {"action": "decline"}), (decline(), {"action": "decline"}), (cancel(), {"action": "cancel"}),
            ({"action": "cancel", "content": {"name": "x"}}, {"action": "cancel"})]
        for returned, sent in cases:
            with self.subTest(sent), self.talk(asks({"a": question(schema)}), said(),
                                               on_elicit=lambda params: returned) as (stub, client):
                client.call_tool("t")
                self.assertEqual(stub.seen[1].params["inputResponses"], {"a": sent})
        for wrong in ({"age": -1}, {"name": 7}, accept({"age": "x"}), "Ada", {"action": "yes"}, 7):
            with self.subTest(wrong), self.talk(asks({"a": question(schema)}), said(),
                                                on_elicit=lambda params: wrong) as (stub, client):
                with self.assertRaisesRegex(InvalidParams, "not sent"):
                    client.call_tool("t")
                self.assertEqual(len(stub.seen), 1)

    def test_a_form_with_a_field_called_action(self) -> None:
        schema = {"type": "object", "properties": {"action": {"type": "string"}}}
        with self.talk(asks({"a": question(schema)}), said(), on_elicit=lambda params: {"action": "decline"}) as (
                stub, client):
            client.call_tool("t")
        self.assertEqual(stub.seen[1].params["inputResponses"]["a"],
                         {"action": "accept", "content": {"action": "decline"}})

    @proves("SAMP-17", "SAMP-18")
    def test_a_url_a_sampling_and_roots_in_one_round(self) -> None:
        requests = {"u": {"method": "elicitation/create", "params": {"mode": "url", "message": "m", "url": "https://x/"}},
                    "s": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1,
                                                                         "includeContext": "thisServer"}},
                    "r": {"method": "roots/list"}}
        reply = {"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m"}
        options = {"on_elicit": lambda params: accept({"x": 1}), "on_sample": lambda params: reply,
                   "on_list_roots": lambda: [{"uri": "file:///x"}]}
        with self.talk(asks(requests), said(), **options) as (stub, client):
            client.call_tool("t")
        self.assertEqual(stub.seen[1].params["inputResponses"], {
            "u": {"action": "accept"}, "s": reply, "r": {"roots": [{"uri": "file:///x"}]}})
        options["on_sample"] = lambda params: {"text": "hi"}
        self.refused(asks(requests), InvalidParams, "not sent", **options)


if __name__ == "__main__":
    unittest.main()
