"""server/resources, file://: a folder whose files are resources, and nothing beyond it.

Implements RES-14, RES-16, RES-18.

A URI is refused as not found unless all of this holds, in this order:

    1  it is the folder's own URI and then a relative path of at most MAX_DEPTH segments, without a query or a fragment
    2  no slash, backslash, dot or NUL in it is percent-encoded, once or twice
    3  no segment is empty, `.` or `..`, holds a control character, a backslash or a drive letter, ends with a dot or a
       space, or is a device name of Windows; none begins with a dot, unless hidden files are served
    4  it fits the pattern
    5  with all links followed it still is inside the folder, and what it then is called keeps rules 3 and 4
    6  it is a regular file, opened segment by segment without following links, so that a link put there meanwhile
       leads nowhere, and without waiting, so that a FIFO does not hang
"""

from __future__ import annotations

import mimetypes
import os
import re
import stat
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime, timezone
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any, Dict, Generator, Iterator, List, Optional, Sequence, Tuple, Union
from urllib.parse import quote

from ..base.errors import InvalidParams, ResourceNotFound
from .content import Contents, resource_contents
from .resources import ResourceTemplate
from .uri_template import is_uri, normal

MAX_DEPTH = 32
LAST_SECOND = 253402300799
"""Since the epoch, of the year 9999; a file may be dated later."""

_ENCODED = re.compile(r"%(?:25)*(?:2[eEfF]|5[cC]|00)")
_REFUSED = re.compile(r"""
    | .*[\x00-\x1f\x7f\\\ud800-\udfff%s].*     # nothing at all; a control character, a backslash, what is no UTF-8
    | [a-z]:.*                                # a drive letter
    | .*[. ]                                  # a dot or a space at the end
    | (?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:[ .:].*)?
    """ % (":" if os.name == "nt" else ""), re.VERBOSE | re.DOTALL | re.IGNORECASE)
_TEXTUAL = re.compile(r"text/.*|.*\+(?:json|xml)|application/(?:json|xml|yaml|toml|javascript|(?:x-)?sh|x-.*script)")
_OPENED = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
_STEPWISE = os.open in os.supports_dir_fd and hasattr(os, "O_DIRECTORY")
_TYPES = mimetypes.MimeTypes()
for _kind, _ending in (("text/markdown", ".md"), ("text/javascript", ".js"), ("text/x-rust", ".rs"),
                       ("application/yaml", ".yaml"), ("application/yaml", ".yml"), ("application/toml", ".toml")):
    _TYPES.add_type(_kind, _ending)


class Folder(ResourceTemplate):
    """The files of a folder: listed at each resources/list, read under the template `<uri>{+path}`.

    uri: what their URIs begin with, ending with /. path: the folder, which must exist. pattern: which files, as a
    glob over the relative path, where ** stands for any folders. hidden: whether names that begin with a dot are
    served. max_size: bytes of a file; larger ones are not listed, and refused. limit: how many files are listed at
    most; those beyond can still be read. The other options are those of ResourceTemplate.

    A file is text where its type is textual or unknown and it is UTF-8 without NUL, otherwise Base64. Raises
    ValueError.
    """

    def __init__(self, uri: str, path: "Union[str, os.PathLike[str]]", *, pattern: str = "**/*", hidden: bool = False,
                 max_size: int = 8 * 1024 * 1024, limit: int = 1000, name: Optional[str] = None,
                 description: str = "Files of a folder, by their relative path", **options: Any) -> None:
        if not is_uri(uri) or not uri.endswith("/") or "?" in uri or "#" in uri:
            raise ValueError(f"the URI of a folder ends with / and has no query, fragment or variable: {uri!r}")
        self.root = os.path.realpath(path)
        if not os.path.isdir(self.root):
            raise ValueError(f"there is no folder {os.fspath(path)!r}")
        self.uri = uri
        self._start = len(normal(uri))
        self._pattern = pattern.split("/")
        self._hidden, self._max_size, self._limit = hidden, max_size, limit
        super().__init__(uri + "{+path}", self._read, instances=self._entries, description=description,
                         name=name or os.path.basename(self.root) or "files", **options)

    def match(self, uri: str) -> Optional[Dict[str, Any]]:
        """Rules 1 to 4, on what the URI says. What they refuse is no resource of this folder."""
        found = super().match(uri)
        if found is None or _ENCODED.search(normal(uri), self._start) or "?" in uri or "#" in uri:
            return None
        return found if self._allowed(found["path"].split("/")) else None

    def _allowed(self, segments: Sequence[str]) -> bool:
        """Rules 2 (a second time, on the decoded text), 3 and 4."""
        return len(segments) <= MAX_DEPTH and _fits(self._pattern, segments) and not any(
            _REFUSED.fullmatch(segment) or _ENCODED.search(segment) or (segment.startswith(".") and not self._hidden)
            for segment in segments)

    def _resolved(self, segments: Sequence[str]) -> Optional[List[str]]:
        """Rule 5: the segments with all links followed; None outside."""
        try:
            real = os.path.realpath(os.path.join(self.root, *segments))
            inside = os.path.commonpath([self.root, real]) == self.root and real != self.root
        except (OSError, ValueError):
            return None
        found = os.path.relpath(real, self.root).split(os.sep) if inside else []
        return found if found and self._allowed(found) else None

    def _read(self, path: str) -> Contents:
        segments = self._resolved(path.split("/"))
        if segments is None:
            raise ResourceNotFound()
        try:
            descriptor = self._open(segments)
        except (OSError, ValueError):
            raise ResourceNotFound() from None
        with open(descriptor, "rb") as file:
            octets = file.read(self._max_size + 1)
        uri = self.uri + quote(path, safe="/")
        if len(octets) > self._max_size:
            raise InvalidParams(f"Resource is larger than {self._max_size} bytes", {"uri": uri})
        kind = media_type(path)
        value = octets if kind is not None and not _TEXTUAL.fullmatch(kind) else _text(octets)
        return resource_contents(uri, value, kind)

    def _open(self, segments: Sequence[str]) -> int:
        """Rule 6: a descriptor of the file. Raises OSError."""
        if _STEPWISE:
            with self._descend(segments[:-1]) as folder:
                descriptor = os.open(segments[-1], _OPENED, dir_fd=folder)
        else:
            descriptor = os.open(os.path.join(self.root, *segments), _OPENED)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError("not a regular file")
        return descriptor

    @contextmanager
    def _descend(self, segments: Sequence[str]) -> Iterator[int]:
        """A descriptor of the folder that `segments` lead to, no link followed; closed at the end. Raises OSError."""
        folder = os.open(self.root, _OPENED | os.O_DIRECTORY)
        try:
            for segment in segments:
                inner = os.open(segment, _OPENED | os.O_DIRECTORY, dir_fd=folder)
                os.close(folder)
                folder = inner
            yield folder
        finally:
            os.close(folder)

    def _entries(self) -> List[Dict[str, Any]]:
        """The definitions of the files there are, by path, at most `limit` of them."""
        found: List[Dict[str, Any]] = []
        with closing(self._walk(())) as files:
            listed = list(islice(files, self._limit))
        for path, status in listed:
            name = path.rsplit("/", 1)[-1]
            seconds = min(max(0, int(status.st_mtime)), LAST_SECOND)
            modified = datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
            entry: Dict[str, Any] = {"uri": self.uri + quote(path, safe="/"), "name": name, "size": status.st_size,
                                     "annotations": {"lastModified": modified}}
            kind = media_type(name) or self.mime_type
            found.append(entry if kind is None else {**entry, "mimeType": kind})
        return found

    def _walk(self, above: Tuple[str, ...]) -> Generator[Tuple[str, os.stat_result], None, None]:
        """Path and status of each file that can be read, in the order of names; linked folders are not entered, be the
        link put there meanwhile.
        """
        with ExitStack() as stack:
            try:
                place: Any = os.path.join(self.root, *above)
                if _STEPWISE and os.scandir in os.supports_fd:
                    place = stack.enter_context(self._descend(above))
                with os.scandir(place) as listing:
                    entries = sorted(listing, key=lambda entry: entry.name)
            except OSError:
                return
            yield from self._files(above, entries)

    def _files(self, above: Tuple[str, ...],
               entries: "List[os.DirEntry[str]]") -> Iterator[Tuple[str, os.stat_result]]:
        for entry in entries:
            segments = (*above, entry.name)
            if entry.is_dir(follow_symlinks=False):
                if len(segments) < MAX_DEPTH and (self._hidden or not entry.name.startswith(".")):
                    yield from self._walk(segments)
            elif self._allowed(segments) and (not entry.is_symlink() or self._resolved(segments) is not None):
                try:
                    status = entry.stat()
                except OSError:
                    continue
                if stat.S_ISREG(status.st_mode) and status.st_size <= self._max_size:
                    yield "/".join(segments), status


def _fits(pattern: Sequence[str], segments: Sequence[str]) -> bool:
    """Whether a path fits a glob, both taken apart at their slashes."""
    if not pattern:
        return not segments
    if pattern[0] == "**":
        return any(_fits(pattern[1:], segments[count:]) for count in range(len(segments) + 1))
    return bool(segments) and fnmatchcase(segments[0], pattern[0]) and _fits(pattern[1:], segments[1:])


def media_type(name: str) -> Optional[str]:
    """The media type for a file name, by Python's own table and a few more, whatever the host says; None if unknown."""
    kind, coding = _TYPES.guess_type(name)
    if coding is not None:
        return "application/gzip" if coding == "gzip" else f"application/x-{coding}"
    return kind


def _text(octets: bytes) -> Union[str, bytes]:
    """The text that `octets` are, or themselves."""
    try:
        return octets if b"\0" in octets else octets.decode("utf-8")
    except UnicodeDecodeError:
        return octets
