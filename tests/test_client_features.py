"""Resources and prompts as a client sees them: what is not there, what is encoded, what is left blank."""

import unittest
from typing import Any, Dict

from mcp_ref import ResourceNotFound
from mcp_ref.base.errors import InternalError, InvalidParams, ProtocolError, TransportError
from mcp_ref.client.client import Client
from mcp_ref.client.resources import octets
from mcp_ref.server.server import Server
from mcp_ref.transports.http_server import HTTPServer
from tests.stub_http import ClientCase, asks, error, result

from .support import proves


@proves("C053")
class Resources(ClientCase):
    def test_both_codes_mean_not_found(self) -> None:
        script = [error(-32002, "gone", status=200, data={"uri": "u"}), error(-32602), result(contents=[])]
        with self.talk(*script) as (_, client):  # C053 B
            for code, data in ((-32002, {"uri": "u"}), (-32602, None)):
                with self.assertRaises(ResourceNotFound) as caught:
                    client.read_resource("u")
                made = caught.exception
                self.assertEqual((made.code, made.data, made.remote), (code, data, True))
                self.assertIsInstance(made, InvalidParams)
            self.assertEqual(client.read_resource("u")["contents"], [], "an empty resource is none that is missing")

    def test_other_errors_are_what_they_are(self) -> None:
        for code, kind in ((-32603, InternalError), (7, ProtocolError)):
            with self.talk(error(code)) as (_, client), self.assertRaises(kind) as caught:
                client.read_resource("u")
            self.assertNotIsInstance(caught.exception, ResourceNotFound)
        with self.talk(error(-32002)) as (_, client), self.assertRaises(ProtocolError) as caught:
            client.call_tool("t")
        self.assertNotIsInstance(caught.exception, ResourceNotFound, "only a resource is not found")
        form = {"a": {"method": "elicitation/create", "params": {"message": "m", "requestedSchema": {
            "type": "object", "properties": {"n": {"type": "string"}}, "required": ["n"]}}}}
        with self.talk(asks(form), on_elicit=lambda _: {"n": 7}) as (_, client):
            with self.assertRaises(InvalidParams) as refused:
                client.read_resource("u")
        self.assertNotIsInstance(refused.exception, ResourceNotFound, "a refusal to send is not the server's word")

    def test_octets(self) -> None:
        good: Any = [({"blob": "+//+"}, b"\xfb\xff\xfe"), ({"blob": "-__-"}, b"\xfb\xff\xfe"),
                     ({"blob": "AA\r\nEC\nAw ="}, b"\0\1\2\3"), ({"blob": "AAECAw"}, b"\0\1\2\3"), ({"blob": ""}, b""),
                     ({"blob": "A" * 76 + "\n" + "A" * 76}, bytes(114)), ({"text": ""}, b""),
                     ({"text": "ä"}, b"\xc3\xa4"), ({"text": "x", "blob": "AA=="}, b"\0")]
        for contents, data in good:  # C053 D
            self.assertEqual(octets(contents), data, contents)
        bad: Any = [{}, {"text": 7}, {"blob": None}, {"blob": "A"}, {"blob": "AA*A"}, {"blob": "AA==AA=="},
                    {"blob": "äAAA"}]
        for contents in bad:
            with self.assertRaises(TransportError):
                octets(contents)

    def test_against_the_server(self) -> None:
        server = Server("test", "1")
        server.add_resource("demo://blob", lambda: b"\xfb\xff\xfe" + bytes(100), name="blob")
        server.add_resource("demo://empty", lambda: "", name="empty")
        with HTTPServer(server, port=0) as running, Client(running.url) as client:
            blob, = client.read_resource("demo://blob")["contents"]
            empty, = client.read_resource("demo://empty")["contents"]
            self.assertEqual((octets(blob), empty["text"]), (b"\xfb\xff\xfe" + bytes(100), ""))
            with self.assertRaises(ResourceNotFound) as caught:
                client.read_resource("demo://none")
            self.assertEqual(caught.exception.data, {"uri": "demo://none"})


class Malformed(ClientCase):
    def test_a_result_without_its_list_of_objects(self) -> None:
        uses: Any = (("contents", lambda client: client.read_resource("demo://a")),
                     ("messages", lambda client: client.get_prompt("p")),
                     ("content", lambda client: client.call_tool("t")))
        wrong: Any = ({}, "x", None, 7, ["x"], [{}, None])
        for name, use in uses:
            for listed in wrong:
                with self.talk(result(**{name: listed}), result()) as (_, client):
                    for _ in range(2):
                        with self.assertRaisesRegex(TransportError, f"needs {name}, a list of objects"):
                            use(client)


class Completion(ClientCase):
    @proves("COMP-14")
    def test_what_is_no_completion_is_not_asked_for(self) -> None:
        prompt, resource = {"type": "ref/prompt", "name": "p"}, {"type": "ref/resource", "uri": "demo://{a}"}
        wrong: Any = [({}, "a", ""), ({"type": "ref/prompt"}, "a", ""),
                      ({"type": "ref/resource", "name": "p"}, "a", ""), (prompt, "a", "", {7: "b"}),
                      ({"type": "ref/tool", "name": "p"}, "a", ""), ({"type": ["ref/prompt"], "name": "p"}, "a", ""),
                      ({"type": "ref/prompt", "name": 7}, "a", ""), (prompt, 7, ""), (prompt, "a", None),
                      (resource, "a", 7), (resource, None, "a"), (prompt, "a", "", {"b": 7})]
        with self.talk(result(completion={"values": []})) as (stub, client):
            for given in wrong:
                with self.subTest(given), self.assertRaisesRegex(ValueError, "a completion has"):
                    client.complete(*given)
            self.assertEqual(stub.seen, [])
            client.complete(prompt, "a", "", {})
            client.complete(resource, "a", "x", {"b": "y"})
        self.assertEqual([seen.params["ref"] for seen in stub.seen], [prompt, resource])


@proves("C054")
class Prompts(ClientCase):
    def test_an_argument_that_is_none_is_left_out(self) -> None:
        with self.talk(result(messages=[])) as (stub, client):  # C054
            given: Dict[str, Any] = {"a": "", "b": None}
            client.get_prompt("p", given)
            client.get_prompt("p", {})
            client.get_prompt("p")
        self.assertEqual([seen.params.get("arguments") for seen in stub.seen], [{"a": ""}, {}, None])
        self.assertEqual(given, {"a": "", "b": None}, "the caller's own are left alone")


if __name__ == "__main__":
    unittest.main()
