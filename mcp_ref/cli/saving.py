"""--save: the images, the audio and the blobs of a result, written to files whose names this program makes.

What a server calls a thing is at most a hint for a name, never a path: a few plain letters of it, a number that is
free, and an ending that follows from the media type. An existing file is never written to, nor a link followed.
"""

from __future__ import annotations

import itertools
import mimetypes
import os
import re
from typing import Any, Mapping, Optional

from ..client.resources import octets
from .faults import UsageError

ENDINGS = {"audio/wav": ".wav", "audio/mpeg": ".mp3", "audio/ogg": ".ogg", "image/webp": ".webp", "image/jpeg": ".jpg"}
"""Those that not every system knows, or knows by the same ending."""


def inner_of(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """What of a block tells of its content: the resource that it embeds, or the block itself."""
    resource = block.get("resource")
    return resource if isinstance(resource, dict) else block


def data_of(block: Mapping[str, Any]) -> Optional[str]:
    """The Base64 that an image, audio, an embedded resource or one of a resource's contents holds; None without any."""
    inner = inner_of(block)
    data = inner.get("blob") if isinstance(inner.get("blob"), str) else inner.get("data")
    return data if isinstance(data, str) else None


def check_folder(folder: str) -> None:
    """Raises UsageError for what can be no folder, before anything is called that may not be called twice."""
    if not folder or os.path.lexists(folder) and not os.path.isdir(folder):
        raise UsageError(f"--save takes a folder, which {folder!r} is not")


def save(block: Mapping[str, Any], folder: str) -> str:
    """Write what a block holds to a new file in the folder, which is made if need be; returns its path.

    Raises UsageError where it cannot be written, and TransportError for what is not Base64.
    """
    written = octets({"blob": data_of(block)})
    inner = inner_of(block)
    hint = re.split(r"[/\\]", str(inner.get("uri") or inner.get("name") or ""))[-1]
    words = re.findall(r"[A-Za-z0-9]+", os.path.splitext(hint)[0])
    stem = "-".join(words)[:40] or re.sub("[^a-z]", "", str(block.get("type") or "")) or "blob"
    ending = _ending(inner.get("mimeType"), os.path.splitext(hint)[1])
    try:
        os.makedirs(folder, exist_ok=True)
        for number in itertools.count(1):
            path = os.path.join(folder, f"{stem}-{number}{ending}")
            try:
                with open(path, "xb") as file:
                    file.write(written)
                return path
            except FileExistsError:
                continue
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot write to {folder}: {getattr(error, 'strerror', None) or error}") from None
    raise AssertionError("there is always a free number")


def _ending(media_type: Any, hint: str) -> str:
    kind = str(media_type or "").partition(";")[0].strip().lower()
    known = ENDINGS.get(kind) or (mimetypes.guess_extension(kind) if re.fullmatch(r"[a-z0-9.+-]+/[a-z0-9.+-]+", kind)
                                  else None)
    return known or (hint.lower() if re.fullmatch(r"\.[A-Za-z0-9]{1,8}", hint) else ".bin")
