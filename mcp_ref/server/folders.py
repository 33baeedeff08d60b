"""server/resources, file://: a folder whose files are resources, and nothing beyond it.

Implements RES-18. A URI is not found unless it is the folder's own and then a relative path, without a query or a
fragment, in which no slash, backslash, dot or NUL is percent-encoded, once or twice; and unless lib.folder lets that
path through.
"""

from __future__ import annotations

import os
import re
from contextlib import closing
from datetime import datetime, timezone
from itertools import islice
from typing import Any, Dict, List, Optional, Union

from ..base.errors import InvalidParams, ResourceNotFound
from ..lib.folder import ESCAPED, Folder, media_type
from ..lib.uri import is_uri, percent_encoded
from ..lib.uri_template import normal
from .arguments import flag, whole
from .content import Contents, resource_contents
from .resources import ResourceTemplate

LAST_SECOND = 253402300799
"""Since the epoch, of the year 9999; a file may be dated later."""

_TEXTUAL = r"text/.*|.*\+(?:json|xml)|application/(?:json|xml|yaml|toml|javascript|(?:x-)?sh|x-.*script)"


class FolderTemplate(ResourceTemplate):
    """The files of a folder: listed at each resources/list, read under the template `<uri>{+path}`.

    uri: what their URIs begin with, ending with /. path, pattern, hidden, max_size: as lib.folder.Folder has them;
    larger files are not listed, and refused. limit: how many are listed at most; those beyond can still be read. The
    other options are those of ResourceTemplate.

    A file is text where its type is textual or unknown and it is UTF-8 without NUL, otherwise Base64. Raises
    ValueError and TypeError.
    """

    def __init__(self, uri: str, path: "Union[str, os.PathLike[str]]", *, pattern: str = "**/*", hidden: bool = False,
                 max_size: int = 8 * 1024 * 1024, limit: int = 1000, name: Optional[str] = None,
                 description: str = "Files of a folder, by their relative path", **options: Any) -> None:
        if not is_uri(uri) or not uri.endswith("/") or "?" in uri or "#" in uri:
            raise ValueError(f"the URI of a folder ends with / and has no query, fragment or variable: {uri!r}")
        if not isinstance(pattern, str):
            raise TypeError(f"pattern is a text, a glob such as **/*.md, not {pattern!r}")
        self._folder = Folder(path, pattern, flag("hidden", hidden), whole("max_size", max_size, 0))
        self.uri, self._start, self._limit = uri, len(normal(uri)), whole("limit", limit, 0)
        super().__init__(uri + "{+path}", self._read, instances=self._entries, description=description,
                         name=name or os.path.basename(self._folder.root) or "files", **options)

    def match(self, uri: str) -> Optional[Dict[str, Any]]:
        """What the URI alone says; what it refuses is no resource of this folder."""
        found = super().match(uri)
        if found is None or ESCAPED.search(normal(uri), self._start) or "?" in uri or "#" in uri:
            return None
        return found if self._folder.allows(found["path"].split("/")) else None

    def _read(self, path: str) -> Contents:
        octets = self._folder.read(path)
        if octets is None:
            raise ResourceNotFound()
        uri = self.uri + percent_encoded(path, "/")
        if len(octets) > self._folder.max_size:
            raise InvalidParams(f"Resource is larger than {self._folder.max_size} bytes", {"uri": uri})
        kind = media_type(path)
        value = octets if kind is not None and not re.fullmatch(_TEXTUAL, kind) else _text(octets)
        return resource_contents(uri, value, kind)

    def _entries(self) -> List[Dict[str, Any]]:
        """The definitions of the files there are, by path, at most `limit` of them."""
        found: List[Dict[str, Any]] = []
        with closing(self._folder.files()) as files:
            listed = list(islice(files, self._limit))
        for path, status in listed:
            name = path.rsplit("/", 1)[-1]
            seconds = min(max(0, int(status.st_mtime)), LAST_SECOND)
            modified = datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
            entry: Dict[str, Any] = {"uri": self.uri + percent_encoded(path, "/"), "name": name, "size": status.st_size,
                                     "annotations": {"lastModified": modified}}
            kind = media_type(name) or self.mime_type
            found.append(entry if kind is None else {**entry, "mimeType": kind})
        return found


def _text(octets: bytes) -> Union[str, bytes]:
    """The text that `octets` are, or themselves."""
    try:
        return octets if b"\0" in octets else octets.decode("utf-8")
    except UnicodeDecodeError:
        return octets
