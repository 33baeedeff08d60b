"""client/elicitation, Requested Schema: the four formats a form may ask for: email, uri, date, date-time.

Asserted only when a schema is compiled with formats=True; every other format is an annotation, as in JSON Schema by
default. Each check is linear in the text: its expressions leave nothing to backtrack.
"""

from __future__ import annotations

import re
from typing import Callable, Dict, Tuple

_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})\Z")
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))\Z")
_ATOMS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*\Z")
_QUOTED = re.compile(r'"(?:[ !#-\[\]-~]|\\[ -~])*"\Z')
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\Z")
_URI = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*:"
    r"(?://(?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*@)?"
    r"(?:\[(?P<literal>[0-9A-Fa-f:.]+|[vV][0-9A-Fa-f]+\.[A-Za-z0-9._~!$&'()*+,;=:-]+)\]"
    r"|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?(?=[/?#]|\Z)|(?!//))"
    r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*"
    r"(?:\?(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?"
    r"(?:#(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?\Z")


def is_date(text: str) -> bool:
    """RFC 3339 full-date, a day of the calendar."""
    found = _DATE.match(text)
    if not found:
        return False
    year, month, day = int(found[1]), int(found[2]), int(found[3])
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    return 1 <= month <= 12 and 1 <= day <= days[month - 1]


def is_date_time(text: str) -> bool:
    """RFC 3339 date-time; a 60th second only where a leap second can be, at 23:59 UTC."""
    found = _TIME.match(text, 11)
    if not found or text[10] not in "Tt" or not is_date(text[:10]):
        return False
    hour, minute, second = int(found[1]), int(found[2]), int(found[3])
    ahead = int(found[5] or 0) * 60 + int(found[6] or 0)
    if hour > 23 or minute > 59 or second > 60 or int(found[5] or 0) > 23 or int(found[6] or 0) > 59:
        return False
    utc = (hour * 60 + minute - (ahead if found[4] != "-" else -ahead)) % 1440
    return second < 60 or utc == 1439


def is_email(text: str) -> bool:
    """RFC 5321 Mailbox."""
    local, at, domain = text.rpartition("@")
    if not at or len(text) > 320 or not (_ATOMS.match(local) or _QUOTED.match(local)):
        return False
    if domain.startswith("[") and domain.endswith("]"):
        inner = domain[1:-1]
        return _is_ip(inner[5:], 6) if inner[:5].lower() == "ipv6:" else _is_ip(inner, 4)
    return len(domain) <= 253 and all(_LABEL.match(label) for label in domain.split("."))


def is_uri(text: str) -> bool:
    """RFC 3986 URI, with a scheme."""
    found = _URI.match(text)
    literal = found and found["literal"]
    return bool(found) and (not literal or literal[0] in "vV" or _is_ip(literal, 6))


def _is_ip(text: str, version: int) -> bool:
    import ipaddress

    try:
        return ipaddress.ip_address(text).version == version
    except ValueError:
        return False


FORMATS: Dict[str, Tuple[str, Callable[[str], bool]]] = {
    "email": ("must be an email address", is_email),
    "uri": ("must be a URI with a scheme, such as https://example.com/", is_uri),
    "date": ("must be a date, such as 2026-07-28", is_date),
    "date-time": ("must be a date and time with a zone, such as 2026-07-28T09:30:00Z", is_date_time),
}
