"""basic/index, JSON Schema Usage: a validator of JSON Schema 2020-12 and draft-07 (BASE-33 to BASE-48).

    schema = compile_schema({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]})
    [each.text("arguments") for each in schema.errors({"text": 3})]     ["arguments.text must be a string"]

    dialects       the dialects, and what each keyword's value must be
    compile        finds and checks every subschema, resolves references, makes closures filed by JSON type
    assertions, applicators, patterns     the closures, by kind of keyword
    run, node      what a run carries, what it may cost, how a violation reads; a subschema in its place

Dialects: 2020-12, which is also the default, draft-07, and custom dialects that are given among the documents and
consist of 2020-12's vocabularies (which keywords hold is read from there, further rules of a custom metaschema are
not). Both pass every required test of the public JSON-Schema-Test-Suite (`python -m tests.schema_suite`).

Both the schema and the instance may be hostile. Bounded when a schema is compiled (SchemaError): the depth and number
of its subschemas, cycles of references, and patterns. Bounded when an instance is validated (a violation): steps,
which are linear in the instance's size, and depth. A compiled schema may be used by any number of threads at once.
"""

from __future__ import annotations

from typing import Any, List, Mapping, Optional

from ..errors import SchemaError
from .compile import Compiler
from .dialects import DRAFT_07, DRAFT_2020_12
from .node import Node
from .run import Bounded, Failures, Run, Violation, fail

__all__ = ["DRAFT_07", "DRAFT_2020_12", "Schema", "SchemaError", "Violation", "compile_schema"]


class Schema:
    """A compiled schema; made by `compile_schema`."""

    __slots__ = ("_check", "_scope", "source")

    def __init__(self, root: Node) -> None:
        self.source = root.schema
        self._check = root.check
        self._scope = (root.resource,)

    def _run(self, instance: Any, brief: bool) -> Optional[Failures]:
        try:
            return self._check(instance, Run(instance, self._scope, brief))
        except Bounded as bound:
            return fail("", str(bound))
        except RecursionError:
            return fail("", "is nested too deeply to validate against its schema")

    def is_valid(self, instance: Any) -> bool:
        """Whether a JSON value, as `json.loads` gives it, satisfies the schema."""
        return self._run(instance, True) is None

    def errors(self, instance: Any) -> List[Violation]:
        """The first violations (run.MAX_VIOLATIONS at most), none for a valid instance; raises nothing."""
        found = self._run(instance, False)
        return [] if found is None else [Violation(path, message, keyword) for path, keyword, message in found]


def compile_schema(schema: Any, *, formats: bool = False, documents: Optional[Mapping[str, Any]] = None) -> Schema:
    """Compile a JSON Schema, an object or a boolean as `json.loads` gives it.

    formats: assert the formats email, uri, date and date-time; otherwise `format` is an annotation.
    documents: further schemas by absolute URI that `$ref` and `$schema` may name.

    Raises SchemaError, naming the place as a JSON pointer, when the schema is not valid under its dialect, its
    dialect is not supported, a reference cannot be resolved, or a bound is met (basic/index#json-schema-usage).
    """
    try:
        return Schema(Compiler(documents or {}, formats).compile(schema))
    except RecursionError:  # the bounds prevent it, unless the caller has used up most of the stack already
        raise SchemaError("the schema is nested too deeply") from None
