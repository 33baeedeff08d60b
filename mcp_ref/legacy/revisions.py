"""schema, of 2025-11-25, 2025-06-18, 2025-03-26 and 2024-11-05: what each of them has, read from their schema.ts.

All else in the package is written for 2026-07-28. Two tables say what of it is younger than a revision: ADDED names
members of each kind of object by the revision that brought them, PARTS those that are of such a kind themselves, or
lists of it. One walk, `_fitted`, leaves out what a revision has not, and says in words what cannot be left out without
a loss. A revision is a date, so that texts compare as the revisions do. No function changes what it is given.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

from ..base.meta import SERVER_INFO, SUBSCRIPTION_ID
from ..base.versioning import LATEST, LEGACY
from ..lib.text import shown
from ..patterns.mrtr import ELICITATION, SAMPLING

V2511, V2506, V2503, V2411 = LEGACY

_RESULT = {"resultType": LATEST, "ttlMs": LATEST, "cacheScope": LATEST}
ADDED: Mapping[str, Mapping[str, str]] = {
    "tools/call": {**_RESULT, "structuredContent": V2506},
    "meta": {SERVER_INFO: LATEST, SUBSCRIPTION_ID: LATEST},
    "tool": {"annotations": V2503, "title": V2506, "outputSchema": V2506, "_meta": V2506, "icons": V2511},
    "prompt": {"title": V2506, "_meta": V2506, "icons": V2511},
    "argument": {"title": V2506},
    "resource": {"title": V2506, "_meta": V2506, "icons": V2511},
    "block": {"_meta": V2506, "icons": V2511},
    "contents": {"_meta": V2506},
    "annotations": {"lastModified": V2506},
    "info": {"title": V2506, "description": V2511, "websiteUrl": V2511, "icons": V2511},
    "capabilities": {"completions": V2503, "extensions": LATEST},
    "progress": {"message": V2503},
    "said": {"_meta": V2511},
    "form": {"mode": V2511},
    "schema": {"$schema": V2511},
}
PARTS: Mapping[str, Mapping[str, str]] = {
    "initialize": {"serverInfo": "info", "capabilities": "capabilities"},
    "tools/list": {"tools": "tool"},
    "prompts/list": {"prompts": "prompt"},
    "resources/list": {"resources": "resource"},
    "resources/templates/list": {"resourceTemplates": "resource"},
    "tools/call": {"content": "block"},
    "prompts/get": {"messages": "message"},
    "resources/read": {"contents": "contents"},
    "prompt": {"arguments": "argument"},
    "resource": {"annotations": "annotations"},
    "message": {"content": "block"},
    "block": {"annotations": "annotations", "resource": "contents", "content": "block"},
    "sampling": {"messages": "said"},
    "said": {"content": "block"},
    "form": {"requestedSchema": "schema"},
}
BLOCKS = {"text": V2411, "image": V2411, "resource": V2411, "audio": V2503, "resource_link": V2506, "tool_use": V2511,
          "tool_result": V2511}
NOTIFICATIONS = {"notifications/" + name for name in (
    "cancelled", "progress", "message", "resources/updated", "resources/list_changed", "tools/list_changed",
    "prompts/list_changed")}


def negotiated(requested: Any) -> str:
    """The revision that `initialize` settles on: the one it asks for, else the newest."""
    return requested if requested in LEGACY else LEGACY[0]


def client_capabilities(version: str, given: Any) -> Dict[str, Any]:
    """What a client declared in `initialize`, in the words of 2026-07-28; what is no object is not declared.

    `elicitation` of 2025-06-18, and an empty one, is form mode. `sampling` before 2025-11-25 holds includeContext.
    """
    made = {name: dict(given[name]) for name in ("elicitation", "sampling", "roots", "experimental")
            if isinstance(given, Mapping) and isinstance(given.get(name), Mapping)}
    if version < V2506:
        made.pop("elicitation", None)
    if "elicitation" in made and (version < V2511 or not made["elicitation"]):
        made["elicitation"] = {"form": {}}
    if "sampling" in made and version < V2511:
        made["sampling"] = {"context": {}}
    return made


def result(version: str, method: str, modern: Mapping[str, Any]) -> Dict[str, Any]:
    """A result of `method` as the revision has it.

    Blocks that it has not become texts. structuredContent stays where it is an object, outputSchema where its type is.
    """
    made: Dict[str, Any] = _fitted(version, method, modern)
    meta = _fitted(version, "meta", made.pop("_meta", {}))
    if meta:
        made["_meta"] = meta
    return made


def notification(version: str, message: Mapping[str, Any]) -> Optional[Dict[str, Any]]:
    """A notification as the revision has it; None where it has none."""
    if message["method"] not in NOTIFICATIONS:
        return None
    made = dict(message)
    if "params" in message:
        kind = "progress" if message["method"] == "notifications/progress" else "notification"
        made["params"] = result(version, kind, message["params"])
    return made


def question(version: str, request: Mapping[str, Any]) -> Dict[str, Any]:
    """An input request as the revision has it, with an elicitationId made up for a URL.

    Whether the client can answer it is known from its capabilities; that they are as `client_capabilities` has them is
    taken for granted. Raises ValueError for a form that the revision cannot put.
    """
    params: Mapping[str, Any] = request.get("params") or {}
    if request["method"] == SAMPLING:
        params = _fitted(version, "sampling", params)
        if version < V2511:
            params = {**params, "messages": [message for each in params["messages"] for message in _apart(each)]}
    elif request["method"] == ELICITATION and params.get("mode") == "url":
        from secrets import token_urlsafe  # and OpenSSL with it, which takes a server's start some milliseconds

        params = {**params, "elicitationId": token_urlsafe(16)}
    elif request["method"] == ELICITATION:
        params = _fitted(version, "form", params)
        if version < V2511:
            properties = params["requestedSchema"].get("properties", {})
            fields = {name: _old_field(version, name, field) for name, field in properties.items()}
            params = {**params, "requestedSchema": {**params["requestedSchema"], "properties": fields}}
    return {"method": request["method"], "params": dict(params)}


def _fitted(version: str, kind: str, value: Any) -> Any:
    """`value`, an object of this kind or a list of them, without the members that are younger than `version`."""
    if isinstance(value, list):
        return [_fitted(version, kind, each) for each in value]
    if not isinstance(value, Mapping):
        return value
    if kind == "block" and BLOCKS.get(value["type"], V2411) > version:
        return {"type": "text", "text": _in_words(version, value)}
    added, parts = ADDED.get(kind, _RESULT), PARTS.get(kind, {})
    made = {name: _fitted(version, parts[name], member) if name in parts else member
            for name, member in value.items() if added.get(name, V2411) <= version}
    if not isinstance(made.get("structuredContent", {}), Mapping):
        del made["structuredContent"]
    if kind == "tool":
        _plain_schemas(made)
    return made


def _in_words(version: str, block: Mapping[str, Any]) -> str:
    if block["type"] == "resource_link":
        return f"{block.get('title') or block['name']}: {block['uri']}"
    return f"[{block['type']}, which protocol revision {version} has not]"


def _plain_schemas(tool: Dict[str, Any]) -> None:
    """Make of a tool's schemas what all these revisions ask of them: objects, whose properties are no bare booleans."""
    for name in ("inputSchema", "outputSchema"):
        schema = tool.get(name, {"type": "object"})
        if schema.get("type") != "object":
            del tool[name]
        elif any(isinstance(each, bool) for each in schema.get("properties", {}).values()):
            properties = {key: {True: {}, False: {"not": {}}}[each] if isinstance(each, bool) else each
                          for key, each in schema["properties"].items()}
            tool[name] = {**schema, "properties": properties}


def _apart(message: Mapping[str, Any]) -> List[Dict[str, Any]]:
    """A sampling message as several of one block each."""
    content = message["content"]
    return [{**message, "content": block} for block in (content if isinstance(content, list) else [content])]


def _old_field(version: str, name: str, field: Mapping[str, Any]) -> Dict[str, Any]:
    """A field of a form as 2025-06-18 has it: one choice by enum and enumNames, a default of booleans alone."""
    if field["type"] == "array":
        raise ValueError(f"field {shown(name)} takes several choices, which revision {version} has no form for")
    made = {key: member for key, member in field.items() if key not in ("default", "oneOf")}
    if "oneOf" in field:
        made["enum"] = [option["const"] for option in field["oneOf"]]
        made["enumNames"] = [option.get("title", option["const"]) for option in field["oneOf"]]
    if field["type"] == "boolean" and "default" in field:
        made["default"] = field["default"]
    return made
