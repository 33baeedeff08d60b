"""What each legacy revision is sent, held against its published schema.

legacy_schemas.json has the definitions that results, notifications and questions consist of, as schema.json of the four
revisions has them, without descriptions. Here each is closed: a member that the schema does not name is a fault.
"""

import copy
import json
import unittest
from typing import Any, Dict

from mcp_ref import Server, ToolResult, content, form, link, sampling
from mcp_ref.base.meta import SUBSCRIPTION_ID
from mcp_ref.base.versioning import LEGACY
from mcp_ref.legacy import revisions
from mcp_ref.lib.json_schema import compile_schema
from mcp_ref.patterns import mrtr

from .support import ROOT, call, message, post, proves

SCHEMAS = json.loads((ROOT / "tests" / "legacy_schemas.json").read_text(encoding="utf-8"))
RESULTS = {"tools/list": "ListToolsResult", "prompts/list": "ListPromptsResult", "tools/call": "CallToolResult",
           "resources/list": "ListResourcesResult", "resources/templates/list": "ListResourceTemplatesResult",
           "prompts/get": "GetPromptResult", "resources/read": "ReadResourceResult",
           "completion/complete": "CompleteResult", "initialize": "InitializeResult"}
NOTIFIED = {"notifications/progress": "ProgressNotification", "notifications/message": "LoggingMessageNotification",
            "notifications/cancelled": "CancelledNotification",
            "notifications/resources/updated": "ResourceUpdatedNotification",
            "notifications/resources/list_changed": "ResourceListChangedNotification",
            "notifications/tools/list_changed": "ToolListChangedNotification",
            "notifications/prompts/list_changed": "PromptListChangedNotification"}
QUESTIONS = {mrtr.ELICITATION: "ElicitRequest", mrtr.SAMPLING: "CreateMessageRequest", mrtr.ROOTS: "ListRootsRequest"}
OPEN = ("inputSchema", "outputSchema")
NEWEST, SECOND, THIRD, OLDEST = LEGACY
ICONS = [{"src": "https://example.com/icon.png", "mimeType": "image/png", "sizes": ["48x48"], "theme": "dark"}]


def closed(schema: Any, name: str = "") -> Any:
    """The schema with no member let through that it does not name; a tool's schemas and a result's `_meta` are open."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: {n: closed(each, n) for n, each in member.items()} if key in ("properties", "$defs", "definitions")
            else closed(member) for key, member in schema.items()}
    if "properties" in schema and "additionalProperties" not in schema and name not in OPEN:
        made["additionalProperties"] = False
        if name == "params":
            made["properties"].setdefault("_meta", {})  # which every message may have
    return made


class Facts:
    """The published schemas, each compiled once: of an object, each member is as the definition of its name says."""

    compiled: Dict[str, Any] = {}

    @classmethod
    def faults(cls, version: str, definition: str, value: Any) -> Any:
        if version not in cls.compiled:
            schema = closed(SCHEMAS[version])
            member = "$defs" if "$defs" in schema else "definitions"
            schema["properties"] = {name: {"$ref": f"#/{member}/{name}"} for name in schema[member]}
            cls.compiled[version] = compile_schema({**schema, "additionalProperties": False}, formats=True)
        return [fault.text("") for fault in cls.compiled[version].errors({definition: value})]


META = {"com.example/a": 1}
EVERYTHING: Server = Server("everything", "1", title="Everything", description="It has all.", icons=ICONS, logging=True,
                    website_url="https://example.com", ttl_ms=1000, extensions={"com.example/map": {}})
LINK = {"description": "A link", "title": "Linked", "icons": ICONS, "size": 1, "mimeType": "text/plain",
        "_meta": META, "annotations": {"audience": ["user"], "priority": 0.5, "lastModified": "2026-01-01T00:00:00Z"}}
BLOCKS = [
    content.text("a text", _meta=META, annotations={"priority": 1, "lastModified": "2026-01-01T00:00:00Z"}),
    content.image(b"i", "image/png", _meta=META), content.audio(b"a", "audio/wav", _meta=META),
    content.resource_link("file:///linked.txt", "linked", **LINK),
    content.Block(type="resource", resource=content.resource_contents("file:///a", "text", "text/plain", _meta=META),
                  _meta=META),
]


@EVERYTHING.tool(title="All blocks", icons=ICONS, meta=META, annotations={"title": "hint", "readOnlyHint": True})
def blocks() -> ToolResult:
    return ToolResult(copy.deepcopy(BLOCKS), structured={"kinds": 5}, meta=META)


@EVERYTHING.tool
def numbers() -> list:
    """Numbers."""
    return [1, 2]


@EVERYTHING.tool(output_schema={"type": "object", "properties": {"any": True, "none": False}})
def found() -> Dict[str, int]:
    return {"any": 1}


@EVERYTHING.tool(input_schema={"type": "object", "properties": {"any": True, "none": False, "some": {"type": "null"}}},
                 output_schema={"anyOf": [{"type": "object"}, {"type": "null"}]})
def either(arguments: Dict[str, Any]) -> Any:
    return {}


@EVERYTHING.prompt(title="A prompt", icons=ICONS, meta=META)
def everything(about: str) -> Any:
    return copy.deepcopy(BLOCKS)


@EVERYTHING.completion("everything", "about")
def about(value: str) -> Any:
    return ["a", "b"]


@EVERYTHING.resource("file:///a.txt", title="A", icons=ICONS, meta=META, mime_type="text/plain", size=1,
                     annotations={"audience": ["user"], "lastModified": "2026-01-01T00:00:00Z"})
def a() -> Any:
    return content.resource_contents("file:///a.txt", "a", "text/plain", _meta=META)


@EVERYTHING.resource("file:///{name}.bin", title="B", icons=ICONS, meta=META, mime_type="image/png",
                     annotations={"lastModified": "2026-01-01T00:00:00Z"})
def b(name: str) -> bytes:
    return b"b"


REQUESTS = [
    ("tools/list", {}), ("prompts/list", {}), ("resources/list", {}), ("resources/templates/list", {}),
    *(("tools/call", {"name": name, "arguments": {}}) for name in ("blocks", "numbers", "found", "either")),
    ("prompts/get", {"name": "everything", "arguments": {"about": "it"}}),
    ("resources/read", {"uri": "file:///a.txt"}), ("resources/read", {"uri": "file:///b.bin"}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "everything"},
                             "argument": {"name": "about", "value": ""}}),
]


def modern(method: str, params: Any) -> Any:
    return post(EVERYTHING, message(method, params)).result


class EachRevision(unittest.TestCase):
    """Everything that is sent is what the revision's own schema says."""

    def check(self, version, definition, value):
        self.assertEqual(Facts.faults(version, definition, value), [], (version, value))

    @proves("C068")
    def test_results(self):
        for method, params in REQUESTS:
            result = modern(method, params)
            before = copy.deepcopy(result)
            for version in LEGACY:
                with self.subTest(version=version, method=method, params=params):
                    made = revisions.result(version, method, result)
                    self.check(version, RESULTS[method], made)
                    self.assertEqual(result, before, "what was given is changed")

    def test_the_newest_loses_nothing_but_what_2026_added(self):
        for method, params in REQUESTS:
            result = modern(method, params)
            for name in ("resultType", "ttlMs", "cacheScope"):
                result.pop(name, None)
            del result["_meta"]["io.modelcontextprotocol/serverInfo"]
            if not result["_meta"]:
                del result["_meta"]
            if params.get("name") == "numbers":
                del result["structuredContent"]
            if method == "tools/list":
                listed = {tool["name"]: tool for tool in result["tools"]}
                del listed["numbers"]["outputSchema"], listed["either"]["outputSchema"]
                listed["found"]["outputSchema"]["properties"] = {"any": {}, "none": {"not": {}}}
                listed["either"]["inputSchema"]["properties"].update({"any": {}, "none": {"not": {}}})
            self.assertEqual(revisions.result(NEWEST, method, modern(method, params)), result)

    def test_initialize(self):
        advertised = EVERYTHING.state.capabilities
        self.assertIn("extensions", advertised)
        for version in LEGACY:
            made = revisions.result(version, "initialize", {
                "protocolVersion": version, "capabilities": advertised, "serverInfo": EVERYTHING.state.info,
                "instructions": "Call it."})
            self.check(version, "InitializeResult", made)
            capabilities = made["capabilities"]
            self.assertEqual("completions" in capabilities, version >= THIRD)
            self.assertEqual(capabilities["resources"], {"subscribe": True, "listChanged": True})
            self.assertNotIn("extensions", capabilities)
            self.assertEqual("title" in made["serverInfo"], version >= SECOND)
            self.assertEqual("icons" in made["serverInfo"], version >= NEWEST)

    def check_message(self, version, definition, made, **envelope):
        """A notification or request, which the schema of 2025-11-25 has with its envelope, the earlier ones without."""
        bare = {"method": made["method"], "params": made.get("params", {})}
        self.check(version, definition, {"jsonrpc": "2.0", **envelope, **bare} if version == NEWEST else bare)

    def test_notifications(self):
        tagged = {"_meta": {SUBSCRIPTION_ID: 3, **META}}
        params = {"notifications/progress": {"progressToken": "t", "progress": 1, "total": 2, "message": "m", **tagged},
                  "notifications/message": {"level": "info", "logger": "a", "data": {"ttlMs": 1, "message": "m"}},
                  "notifications/cancelled": {"requestId": 3, "reason": "gone"},
                  "notifications/resources/updated": {"uri": "file:///a.txt", **tagged}}
        for method, definition in NOTIFIED.items():
            given = {"jsonrpc": "2.0", "method": method, "params": params.get(method, tagged)}
            before = copy.deepcopy(given)
            for version in LEGACY:
                with self.subTest(version=version, method=method):
                    made = revisions.notification(version, given)
                    self.check_message(version, definition, made)
                    self.assertEqual(made["params"].get("_meta", META), META)
                    expected = {**given["params"], "_meta": META} if "_meta" in given["params"] else given["params"]
                    if method == "notifications/progress" and version == OLDEST:
                        expected.pop("message")
                    self.assertEqual(made, {**given, "params": expected})
                    self.assertEqual(given, before)
        for version in LEGACY:
            self.assertIsNone(revisions.notification(version, {"method": "notifications/subscriptions/acknowledged"}))
            bare = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
            self.assertEqual(revisions.notification(version, bare), bare)

    def test_questions(self):
        fields = {"name": {"type": "string", "default": "Ann", "minLength": 1, "title": "Name"},
                  "size": {"type": "string", "default": "s", "oneOf": [{"const": "s", "title": "Small"},
                                                                       {"const": "l", "title": "Large"}]},
                  "kind": {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"], "default": "a"},
                  "count": {"type": "integer", "default": 1, "minimum": 0},
                  "sure": {"type": "boolean", "default": True}}
        several = {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "default": ["a"]}
        spoken = [{"role": "user", "content": copy.deepcopy(BLOCKS[:3]), "_meta": META},
                  {"role": "assistant", "content": {"type": "tool_use", "id": "1", "name": "n", "input": {}}},
                  {"role": "user", "content": [{"type": "tool_result", "toolUseId": "1", "structuredContent": [1],
                                                "content": [{"type": "text", "text": "t"}]}]}]
        asked = [form("Who?", {**fields, "several": several}), form("Who?", fields),
                 link("Go there", "https://a.example/"), sampling("Say", 5), sampling(spoken, 5, temperature=0.5),
                 mrtr.roots()]
        asked[1]["params"]["requestedSchema"]["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        for version in LEGACY:
            for each in asked:
                definition = QUESTIONS[each["method"]]
                mode = each["params"].get("mode")
                if definition == "ElicitRequest" and version < SECOND or mode == "url" and version < NEWEST:
                    continue
                if "several" in str(each) and version < NEWEST:
                    with self.assertRaisesRegex(ValueError, "several.*2025-06-18"):
                        revisions.question(version, each)
                    continue
                before = copy.deepcopy(each)
                with self.subTest(version=version, question=each):
                    made = revisions.question(version, each)
                    self.check_message(version, definition, made, id=1)
                    self.assertEqual(each, before)

    def test_what_becomes_of_questions(self):
        one, two = (revisions.question(NEWEST, link("Go", "https://a.example/"))["params"] for _ in range(2))
        self.assertNotEqual(one.pop("elicitationId"), two.pop("elicitationId"))
        self.assertEqual(one, {"mode": "url", "message": "Go", "url": "https://a.example/"})
        choice = form("Size?", {"size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}], "default": "s"},
                                "sure": {"type": "boolean", "default": False, "title": "Sure"}})
        self.assertEqual(revisions.question(NEWEST, choice), choice)
        self.assertEqual(revisions.question(SECOND, choice)["params"], {"message": "Size?", "requestedSchema": {
            "type": "object", "required": ["size", "sure"], "properties": {
                "size": {"type": "string", "enum": ["s"], "enumNames": ["Small"]},
                "sure": {"type": "boolean", "default": False, "title": "Sure"}}}})
        said = sampling([{"role": "user", "content": [content.text("a"), content.audio(b"", "audio/wav")]}], 5)
        self.assertEqual(revisions.question(NEWEST, said), said)
        messages = revisions.question(OLDEST, said)["params"]["messages"]
        self.assertEqual([(each["role"], each["content"]["type"]) for each in messages], [("user", "text")] * 2)
        self.assertEqual(messages[1]["content"]["text"], "[audio, which protocol revision 2024-11-05 has not]")
        self.assertEqual(revisions.question(OLDEST, {"method": "roots/list"}), {"method": "roots/list", "params": {}})

    def test_blocks_become_words(self):
        result = modern("tools/call", {"name": "blocks", "arguments": {}})
        kinds = {version: [block["type"] for block in revisions.result(version, "tools/call", result)["content"]]
                 for version in LEGACY}
        self.assertEqual(kinds, {NEWEST: ["text", "image", "audio", "resource_link", "resource"],
                                 SECOND: ["text", "image", "audio", "resource_link", "resource"],
                                 THIRD: ["text", "image", "audio", "text", "resource"],
                                 OLDEST: ["text", "image", "text", "text", "resource"]})
        texts = [block.get("text") for block in revisions.result(OLDEST, "tools/call", result)["content"]]
        self.assertEqual(texts[2:4], ["[audio, which protocol revision 2024-11-05 has not]",
                                      "Linked: file:///linked.txt"])
        untitled = {"content": [content.resource_link("file:///b", "b")]}
        self.assertEqual(revisions.result(OLDEST, "tools/call", untitled)["content"][0]["text"], "b: file:///b")

    @proves("C068")
    def test_data_that_is_no_object_is_left_to_the_text(self):
        self.assertEqual(call(EVERYTHING, "numbers").result["structuredContent"], [1, 2])
        for version in LEGACY:
            made = revisions.result(version, "tools/call", call(EVERYTHING, "numbers").result)
            self.assertEqual(made, {"content": [{"type": "text", "text": "[1,2]"}]})
            tools = {tool["name"]: tool for tool in
                     revisions.result(version, "tools/list", modern("tools/list", {}))["tools"]}
            self.assertNotIn("outputSchema", tools["numbers"])
            self.assertEqual("outputSchema" in tools["found"], version >= SECOND)
            structured = revisions.result(version, "tools/call", call(EVERYTHING, "found").result)
            self.assertEqual(structured.get("structuredContent"), {"any": 1} if version >= SECOND else None)
        self.assertIn("_meta", revisions.result(OLDEST, "tools/call", call(EVERYTHING, "blocks").result))

    def test_which_revision_has_which_member(self):
        since = {"tool": {"annotations": THIRD, "title": SECOND, "outputSchema": SECOND, "_meta": SECOND,
                          "icons": NEWEST},
                 "prompt": {"title": SECOND, "_meta": SECOND, "icons": NEWEST}, "argument": {"title": SECOND},
                 "resource": {"annotations": OLDEST, "size": OLDEST, "title": SECOND, "icons": NEWEST}}
        schema = {"type": "object", "properties": {"any": True}}
        tool = {"name": "t", "inputSchema": schema, "outputSchema": {"type": "object"}, "annotations": {"title": "T"}}
        more = {"title": "T", "_meta": META, "icons": ICONS}
        resource = {"uri": "file:///a", "name": "a", "size": 1, "annotations": {"priority": 1}}
        argument = {"name": "a", "title": "A", "description": "An argument", "required": True}
        for version in LEGACY:
            listed = [revisions.result(version, method, {member: [item]}) for method, member, item in (
                ("tools/list", "tools", {**tool, **more}), ("resources/list", "resources", {**resource, **more}),
                ("prompts/list", "prompts", {"name": "p", "arguments": [argument], **more}))]
            for result, definition in zip(listed, ("ListToolsResult", "ListResourcesResult", "ListPromptsResult")):
                self.check(version, definition, result)
            prompt = listed[2]["prompts"][0]
            made = {"tool": listed[0]["tools"][0], "resource": listed[1]["resources"][0], "prompt": prompt,
                    "argument": prompt["arguments"][0]}
            for kind, members in since.items():
                for name, first in members.items():
                    self.assertEqual(name in made[kind], version >= first, (version, kind, name))
            self.assertEqual(made["tool"]["inputSchema"], {"type": "object", "properties": {"any": {}}})

    def test_the_facts_tell_a_modern_result_from_a_legacy_one(self):
        for method, params in REQUESTS:
            for version in LEGACY:
                self.assertTrue(Facts.faults(version, RESULTS[method], modern(method, params)), (version, method))


class Negotiation(unittest.TestCase):
    def test_the_version_asked_for_or_the_newest(self):
        for version in LEGACY:
            self.assertEqual(revisions.negotiated(version), version)
        for version in ("2026-07-28", "1999-01-01", "", None, 3, ["2025-11-25"]):
            self.assertEqual(revisions.negotiated(version), NEWEST)

    def test_client_capabilities(self):
        cases = [
            (NEWEST, {"elicitation": {}}, {"elicitation": {"form": {}}}),
            (NEWEST, {"elicitation": {"url": {}}}, {"elicitation": {"url": {}}}),
            (NEWEST, {"elicitation": {"form": {}, "url": {}}}, {"elicitation": {"form": {}, "url": {}}}),
            (SECOND, {"elicitation": {"url": {}}}, {"elicitation": {"form": {}}}),
            (THIRD, {"elicitation": {}}, {}), (OLDEST, {"elicitation": {}}, {}),
            (NEWEST, {"sampling": {}}, {"sampling": {}}),
            (NEWEST, {"sampling": {"tools": {}}}, {"sampling": {"tools": {}}}),
            (SECOND, {"sampling": {"tools": {}}}, {"sampling": {"context": {}}}),
            (OLDEST, {"roots": {"listChanged": True}}, {"roots": {"listChanged": True}}),
            (NEWEST, {"experimental": {"a": {}}, "tasks": {}, "extensions": {}}, {"experimental": {"a": {}}}),
            (NEWEST, {"elicitation": True, "sampling": None, "roots": []}, {}), (NEWEST, None, {}), (NEWEST, [], {}),
        ]
        for version, given, expected in cases:
            with self.subTest(version=version, given=given):
                self.assertEqual(revisions.client_capabilities(version, given), expected)


if __name__ == "__main__":
    unittest.main()
