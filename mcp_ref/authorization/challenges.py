"""basic/authorization, Error Handling: what a 401 or 403 asks for, in challenges of every scheme.

Implements ASDISC-09, AUTH-72; the grammar is that of RFC 9110, section 11.6.1. A field may hold several challenges, and
a challenge several parameters, both parted by commas; only what follows a name tells the two apart.
"""

from __future__ import annotations

import re
from typing import Dict, Iterable, List, NamedTuple, Optional, Tuple

from ..lib.http1 import TOKEN

Fields = Iterable[Tuple[str, str]]

_GAP = re.compile(r"[ \t,]*")
_SCHEME = re.compile(rf"({TOKEN})(?=[ \t,]|\Z)")
_TOKEN68 = re.compile(r"[ \t]+[A-Za-z0-9._~+/-]+=*(?=[ \t]*(?:,|\Z))")
_PARAMETER = re.compile(rf'({TOKEN})[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))(?=[ \t]*(?:,|\Z))')
_FAULTY = re.compile(r"[^,]*")


class Challenge(NamedTuple):
    """One challenge: its scheme and the names of its parameters in lower case; of a repeated one the first counts."""

    scheme: str
    parameters: Dict[str, str]


class Asked(NamedTuple):
    """What a refused request needs: scopes, where the resource's metadata is, and the `error` it was refused with."""

    scopes: Tuple[str, ...] = ()
    metadata: Optional[str] = None
    error: Optional[str] = None


def challenges(fields: Fields) -> List[Challenge]:
    """The challenges of all WWW-Authenticate fields, in order; what fits no grammar is passed over."""
    found: List[Challenge] = []
    for value in (value for name, value in fields if name.lower() == "www-authenticate"):
        current, at = None, 0
        while True:
            at = _GAP.match(value, at).end()  # type: ignore[union-attr]
            if at == len(value):
                break
            parameter, scheme = _PARAMETER.match(value, at), _SCHEME.match(value, at)
            if parameter is not None and current is not None:
                name, quoted, plain = parameter.groups()
                current.parameters.setdefault(name.lower(), plain or re.sub(r"\\(.)", r"\1", quoted or ""))
                at = parameter.end()
            elif scheme is not None:
                current = Challenge(scheme[1].lower(), {})
                found.append(current)
                secret = _TOKEN68.match(value, scheme.end())
                at = scheme.end() if secret is None else secret.end()
            else:
                at = _FAULTY.match(value, at + 1).end()  # type: ignore[union-attr]
    return found


def asked(fields: Fields) -> Asked:
    """What the Bearer and DPoP challenges ask for; the metadata's place is taken from any scheme."""
    listed = challenges(fields)
    ours = [each.parameters for each in listed if each.scheme in ("bearer", "dpop")]
    places = ours + [each.parameters for each in listed]
    first = {name: next((each[name] for each in group if each.get(name)), None)
             for name, group in (("scope", ours), ("error", ours), ("resource_metadata", places))}
    return Asked(tuple((first["scope"] or "").split()), first["resource_metadata"], first["error"])
