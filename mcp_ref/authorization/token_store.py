"""basic/authorization, Refresh Tokens, and OAuth 2.1, section 7.1: where tokens and registrations are kept.

Implements AUTH-54, AUTHSEC-05. In memory by default; a file is readable by its owner alone, replaced as a whole, and
one process at a time changes it or spends a refresh token of it.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Dict, Iterator, Optional, Union

from ..base.errors import AuthorizationError
from ..lib.strict_json import NotJson, decode
from ..transports.calls import GLANCE, Deadline

try:
    import fcntl
except ImportError:  # Windows, where two processes may then spend one refresh token
    fcntl = None  # type: ignore[assignment]

Record = Dict[str, Any]


class TokenStore:
    """Keeps records in memory. Any number of threads, and clients, may share one."""

    def __init__(self) -> None:
        self._records: Dict[str, Record] = {}

    def load(self, key: str) -> Optional[Record]:
        """The record under a key, None where there is none."""
        return self._records.get(key)

    def save(self, key: str, record: Optional[Record]) -> None:
        """Keep a record, a JSON object; None drops it."""
        if record is None:
            self._records.pop(key, None)
        else:
            self._records[key] = record

    @contextmanager
    def alone(self, deadline: Deadline) -> Iterator[None]:
        """Whatever is read and saved within it, no other process changes meanwhile. Raises what Deadline.left does."""
        yield


class FileTokenStore(TokenStore):
    """Keeps records in a file, JSON, which it makes with its folder when there is something to keep.

    path: the file, or a link to it; two of the same name and `.lock` stand beside it. One that is damaged holds
    nothing. Raises AuthorizationError where nothing can be kept, in a device or a folder say.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"]) -> None:
        self._path = Path(os.path.realpath(path))
        self._lock = threading.Lock()

    def load(self, key: str) -> Optional[Record]:
        record = self._all().get(key)
        return record if isinstance(record, dict) else None

    def save(self, key: str, record: Optional[Record]) -> None:
        with self._lock, self._locked(".write.lock", Deadline(60)):
            if self._path.exists() and not self._path.is_file():  # a device would be replaced, a pipe never read
                raise AuthorizationError(f"tokens are kept in a file, which {self._path} is not")
            records = {**self._all(), key: record}
            if record is None:
                del records[key]
            made = self._path.with_name(f"{self._path.name}.{secrets.token_hex(8)}")
            try:
                with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    file.write(json.dumps(records).encode("ascii"))
                os.replace(made, self._path)
            except BaseException:
                with suppress(OSError):
                    os.unlink(made)
                raise

    @contextmanager
    def alone(self, deadline: Deadline) -> Iterator[None]:
        with self._locked(".lock", deadline):
            yield

    def _all(self) -> Dict[str, Any]:
        try:
            found = decode(self._path.read_bytes()) if self._path.is_file() else {}
        except (OSError, NotJson):
            return {}
        return found if isinstance(found, dict) else {}

    @contextmanager
    def _locked(self, suffix: str, deadline: Deadline) -> Iterator[None]:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(os.open(f"{self._path}{suffix}", os.O_RDWR | os.O_CREAT, 0o600), "rb") as lock:
                while fcntl is not None:
                    try:
                        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        break
                    except BlockingIOError:
                        deadline.pause(GLANCE, threading.Event())
                yield
        except OSError as error:
            raise AuthorizationError(f"tokens cannot be kept in {self._path}: {error.strerror or error}") from None
