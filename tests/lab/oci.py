"""Images in OCI layouts, written by the tests themselves."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import platform
import shutil
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.capabilities import lacking

_TYPE = "application/vnd.oci.image.{}.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"

#: What a name becomes: a file's content, a link's target after ``->``, or a folder (None).
Entries = Mapping[str, bytes | str | None]


def layer(entries: Entries, modes: Mapping[str, int] | None = None) -> bytes:
    """A compressed layer."""
    room = io.BytesIO()
    with tarfile.open(fileobj=room, mode="w") as archive:
        for name, content in entries.items():
            member = tarfile.TarInfo(name)
            member.mode = (modes or {}).get(name, 0o755)
            if content is None:
                member.type = tarfile.DIRTYPE
            elif isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content.removeprefix("->")
            else:
                member.size = len(content)
            archive.addfile(member, io.BytesIO(content) if isinstance(content, bytes) else None)
    return gzip.compress(room.getvalue(), mtime=0)


def busybox(*tools: str) -> dict[str, bytes | str | None]:
    """The files of busybox, with these tools."""
    program = shutil.which("busybox")
    if program is None:
        lacking("not installed: busybox-static")
    links = {f"bin/{name}": "->/bin/busybox" for name in tools}
    return {"bin": None, "bin/busybox": Path(program).read_bytes(), **links}


def write(folder: Path, images: Mapping[str, Iterable[bytes]], **config: Any) -> Path:
    """A layout with an image of these layers for each tag; ``config`` are settings such as Env."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def blob(data: bytes, kind: str) -> dict[str, Any]:
        digest = hashlib.sha256(data).hexdigest()
        (blobs / digest).write_bytes(data)
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(data)}

    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    manifests = []
    for tag, layers in images.items():
        settings = {"architecture": machine, "os": "linux", "config": config}
        manifest = {
            "schemaVersion": 2,
            "config": blob(json.dumps(settings).encode(), _TYPE.format("config")),
            "layers": [blob(one, _LAYER) for one in layers],
        }
        described = blob(json.dumps(manifest).encode(), _TYPE.format("manifest"))
        manifests.append({**described, "annotations": {"org.opencontainers.image.ref.name": tag}})
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": manifests}))
    return folder
