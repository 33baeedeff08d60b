"""mcp_ref's client: `python3 -m tests.peers.client ERA TARGET` does the steps of steps.py against a server.

ERA is the revision to speak, TARGET a URL or the command of a server; PEER_STEPS names the steps, between commas.

Prints a line of JSON for each step: its name, and what it got or the error it ended with.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Callable, Dict, List

from mcp_ref import Client, McpError, ProtocolError
from mcp_ref.client.elicitation import ElicitResult

ANSWERS = {"agree": True, "seat": "aisle", "name": "Ada"}


class Steps:
    """The answers of the user, what was logged, and a method for each step."""

    def __init__(self, era: str, target: List[str]) -> None:
        self.era, self.target = era, target
        self.action = "accept"
        self.logs: List[Any] = []
        self.client = self.opened(on_elicit=self.on_elicit, on_sample=self.on_sample, log_level="info",
                             on_list_roots=lambda: [{"uri": "file:///home/ada"}], on_log=self.on_log)

    def opened(self, **options: Any) -> Client:
        server: Any = self.target[0] if len(self.target) == 1 else self.target
        if self.era != "2026-07-28":
            options["era"] = "legacy"
        return Client(server, timeout=20, **options)

    def on_elicit(self, params: Dict[str, Any]) -> Any:
        if params.get("mode") == "url" or self.action != "accept":
            return ElicitResult(action=self.action)
        return {name: ANSWERS[name] for name in params["requestedSchema"]["properties"]}

    def on_sample(self, params: Dict[str, Any]) -> Dict[str, Any]:
        return {"role": "assistant", "model": "atlas", "content": {"type": "text", "text": "Paris"}}

    def on_log(self, level: str, data: Any, logger: Any) -> None:
        self.logs.append([level, logger, data])

    def call(self, name: str, **arguments: Any) -> str:
        return str(self.client.call_tool(name, arguments)["content"][0]["text"])

    def booked(self, action: str) -> str:
        self.action = action
        try:
            return self.call("book", flight="MC 1")
        finally:
            self.action = "accept"

    def connect(self) -> Any:
        found = self.client.discover()
        info = found["_meta"]["io.modelcontextprotocol/serverInfo"]
        return [found["supportedVersions"][0], info["name"], found["instructions"]]

    def list_tools(self) -> Any:
        return sorted(tool["name"] for tool in self.client.list_tools())

    def structured(self) -> Any:
        return self.client.call_tool("add", {"a": 2, "b": 3})["structuredContent"]

    def tool_error(self) -> Any:
        result = self.client.call_tool("fail")
        return [result["isError"], result["content"][0]["text"]]

    def bad_arguments(self) -> Any:
        return self.client.call_tool("add", {"a": "two", "b": 3})["isError"]

    def undeclared(self) -> Any:
        with self.opened() as other:
            return other.call_tool("visit")["isError"]

    def progress(self) -> Any:
        heard: List[Any] = []
        result = self.client.call_tool("count", on_progress=lambda *step: heard.append(list(step)))
        return [result["content"][0]["text"], heard]

    def log_messages(self) -> Any:
        self.logs = []
        return [self.call("chat"), self.logs]

    def cancel(self) -> Any:
        """A callback that raises ends the call, and the connection with it."""
        def leave(*_: Any) -> None:
            raise KeyboardInterrupt

        try:
            self.client.call_tool("wait", on_progress=leave)
        except KeyboardInterrupt:
            pass
        return self.call("waited")

    def list_resources(self) -> Any:
        return sorted(each["uri"] for each in self.client.list_resources())

    def read(self, uri: str = "peers://about", field: str = "text") -> Any:
        return self.client.read_resource(uri)["contents"][0][field]

    def list_templates(self) -> Any:
        return [each["uriTemplate"] for each in self.client.list_resource_templates()]

    def list_prompts(self) -> Any:
        return [[each["name"], [[given["name"], given.get("required", False)] for given in each["arguments"]]]
                for each in self.client.list_prompts()]

    def get_prompt(self) -> Any:
        return self.client.get_prompt("advice", {"plant": "fern"})["messages"][0]["content"]["text"]

    def complete_prompt(self) -> Any:
        return self.client.complete({"type": "ref/prompt", "name": "advice"}, "plant", "f")["values"]

    def complete_template(self) -> Any:
        return self.client.complete({"type": "ref/resource", "uri": "peers://plants/{name}"}, "name", "f")["values"]

    def listen(self) -> Any:
        with self.client.listen(tools=True, uris=["peers://about"]) as subscription:
            self.call("grow")
            first = next(subscription)["method"]
            self.call("water")
            updated = next(each for each in subscription if each["method"] == "notifications/resources/updated")
        return [first == "notifications/tools/list_changed", updated["params"]["uri"]]

    def end_of_stream(self) -> Any:
        """The driver ends the server once it is told that somebody listens."""
        with self.client.listen(tools=True) as subscription:
            print(json.dumps({"listening": True}), flush=True)
            for _ in subscription:
                pass
        return "graceful"

    def all(self) -> Dict[str, Callable[[], Any]]:
        """The steps in their order."""
        return {
            "connect": self.connect,
            "mirrored_unlisted": lambda: self.call("route", region="Zürich"),
            "list_tools": self.list_tools,
            "call": lambda: self.call("echo", text="hi, Zürich ☃"),
            "structured": self.structured,
            "tool_error": self.tool_error,
            "bad_arguments": self.bad_arguments,
            "unknown_tool": lambda: self.call("nothing"),
            "mirrored": lambda: self.call("route", region="Zürich", shard=-7, dry=True),
            "mirrored_like_encoded": lambda: self.call("route", region="=?base64?eA==?="),
            "odd_name": lambda: self.call("grüße"),
            "elicit_accept": lambda: self.booked("accept"),
            "elicit_decline": lambda: self.booked("decline"),
            "elicit_cancel": lambda: self.booked("cancel"),
            "elicit_url": lambda: self.call("visit"),
            "three_in_a_round": lambda: self.call("consult"),
            "undeclared": self.undeclared,
            "progress": self.progress,
            "log_messages": self.log_messages,
            "cancel": self.cancel,
            "list_resources": self.list_resources,
            "read": self.read,
            "read_octets": lambda: self.read("peers://dot", "blob"),
            "list_templates": self.list_templates,
            "read_template": lambda: self.read("peers://plants/fern"),
            "unknown_resource": lambda: self.read("peers://nothing"),
            "list_prompts": self.list_prompts,
            "get_prompt": self.get_prompt,
            "complete_prompt": self.complete_prompt,
            "complete_template": self.complete_template,
            "listen": self.listen,
            **({"end_of_stream": self.end_of_stream} if len(self.target) == 1 else {}),
        }


def main(era: str, *target: str) -> None:
    """Do the steps, one after the other."""
    steps = Steps(era, list(target))
    with steps.client:
        wanted = os.environ.get("PEER_STEPS", "").split(",")
        for name, step in steps.all().items():
            if name not in wanted:
                continue
            try:
                said: Dict[str, Any] = {"step": name, "got": step()}
            except ProtocolError as error:
                said = {"step": name, "error": error.code}
            except (McpError, LookupError, TypeError) as error:
                said = {"step": name, "error": "refused", "words": f"{type(error).__name__}: {error}"}
            print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
