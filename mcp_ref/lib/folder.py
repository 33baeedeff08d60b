"""A folder whose files can be listed and read, and nothing beyond it.

A relative path leads to a file only if all of this holds, in this order:

    1  it has at most MAX_SEGMENTS segments, none of which is_nameless, has_unsafe_character, is_drive or is_device;
       none begins with a dot, unless hidden files are served; and it fits the pattern
    2  with all links followed it still is inside the folder, and what it then is called keeps rule 1
    3  it is a regular file, opened segment by segment without following links, so that a link put there meanwhile
       leads nowhere, and without waiting, so that a FIFO does not hang
"""

from __future__ import annotations

import mimetypes
import os
import re
import stat
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from typing import Any, Generator, Iterator, List, Optional, Sequence, Tuple, Union

MAX_SEGMENTS = 32

ESCAPED = re.compile(r"%(?:25)*(?:2[eEfF]|5[cC]|00)")
"""A dot, slash, backslash or NUL percent-encoded, once or more often: whoever decodes it once more is led elsewhere."""

_UNSAFE = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff%s]" % (":" if os.name == "nt" else ""))
_DEVICES = {"con", "prn", "aux", "nul", "conin$", "conout$",
            *(port + number for port in ("com", "lpt") for number in "0123456789¹²³")}
_OPENED = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
STEPWISE = os.open in os.supports_dir_fd and hasattr(os, "O_DIRECTORY")
"""Whether this system opens a file segment by segment."""
_TYPES = mimetypes.MimeTypes()
for _kind, _ending in (("text/markdown", ".md"), ("text/javascript", ".js"), ("text/x-rust", ".rs"),
                       ("application/yaml", ".yaml"), ("application/yaml", ".yml"), ("application/toml", ".toml")):
    _TYPES.add_type(_kind, _ending)


def is_nameless(segment: str) -> bool:
    """Whether it is empty, or ends with a dot or a space, as `.` and `..` do; Windows drops such an end."""
    return not segment or segment[-1] in ". "


def has_unsafe_character(segment: str) -> bool:
    """Whether a control character is in it, a backslash, what has no UTF-8, ESCAPED, or on Windows a colon."""
    return _UNSAFE.search(segment) is not None or ESCAPED.search(segment) is not None


def is_drive(segment: str) -> bool:
    """Whether it begins with the letter of a drive and a colon."""
    return segment[1:2] == ":" and segment[0].isalpha()


def is_device(segment: str) -> bool:
    """Whether it is a device of Windows, whatever stands after the name."""
    return re.split("[ .:]", segment, maxsplit=1)[0].lower() in _DEVICES


class Folder:
    """The files of a folder.

    path: the folder, which must exist. pattern: which files, as a glob over the relative path, where ** stands for any
    folders. hidden: whether names that begin with a dot are served. max_size: bytes of a file that is listed.

    Paths are relative, their segments separated by slashes. Raises ValueError.
    """

    def __init__(self, path: "Union[str, os.PathLike[str]]", pattern: str = "**/*", hidden: bool = False,
                 max_size: int = 8 * 1024 * 1024) -> None:
        self.root = os.path.realpath(path)
        if not os.path.isdir(self.root):
            raise ValueError(f"there is no folder {os.fspath(path)!r}")
        self.max_size = max_size
        self._pattern, self._hidden = pattern.split("/"), hidden

    def allows(self, segments: Sequence[str]) -> bool:
        """Rule 1."""
        return len(segments) <= MAX_SEGMENTS and _fits(self._pattern, segments) and not any(
            is_nameless(segment) or has_unsafe_character(segment) or is_drive(segment) or is_device(segment)
            or (segment.startswith(".") and not self._hidden) for segment in segments)

    def read(self, path: str) -> Optional[bytes]:
        """What is in the file, as far as max_size and one octet more; None where there is none."""
        segments = path.split("/")
        found = self._resolved(segments) if self.allows(segments) else None
        try:
            descriptor = -1 if found is None else self._open(found)
        except (OSError, ValueError):
            return None
        if descriptor < 0:
            return None
        with open(descriptor, "rb") as file:
            return file.read(self.max_size + 1)

    def files(self, above: Tuple[str, ...] = ()) -> Generator[Tuple[str, os.stat_result], None, None]:
        """Path and status of each file that can be read, in the order of names; linked folders are not entered, be the
        link put there meanwhile.
        """
        with ExitStack() as stack:
            try:
                place: Any = os.path.join(self.root, *above)
                if STEPWISE and os.scandir in os.supports_fd:
                    place = stack.enter_context(self._descend(above))
                with os.scandir(place) as listing:
                    entries = sorted(listing, key=lambda entry: entry.name)
            except OSError:
                return
            yield from self._listed(above, entries)

    def _listed(self, above: Tuple[str, ...],
                entries: "List[os.DirEntry[str]]") -> Iterator[Tuple[str, os.stat_result]]:
        for entry in entries:
            segments = (*above, entry.name)
            if entry.is_dir(follow_symlinks=False):
                if len(segments) < MAX_SEGMENTS and (self._hidden or not entry.name.startswith(".")):
                    yield from self.files(segments)
            elif self.allows(segments) and (not entry.is_symlink() or self._resolved(segments) is not None):
                try:
                    status = entry.stat()
                except OSError:
                    continue
                if stat.S_ISREG(status.st_mode) and status.st_size <= self.max_size:
                    yield "/".join(segments), status

    def _resolved(self, segments: Sequence[str]) -> Optional[List[str]]:
        """Rule 2: the segments with all links followed; None outside."""
        try:
            real = os.path.realpath(os.path.join(self.root, *segments))
            inside = os.path.commonpath([self.root, real]) == self.root and real != self.root
        except (OSError, ValueError):
            return None
        found = os.path.relpath(real, self.root).split(os.sep) if inside else []
        return found if found and self.allows(found) else None

    def _open(self, segments: Sequence[str]) -> int:
        """Rule 3: a descriptor of the file. Raises OSError."""
        if STEPWISE:
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
