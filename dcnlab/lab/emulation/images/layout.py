"""Images in OCI layouts on disk (OCI Image Format Specification 1.1): manifests, layers, settings."""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dcnlab.lab.errors import UsageError

_TAG = "org.opencontainers.image.ref.name"
_INDEXES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64", "riscv64": "riscv64"}
#: Bytes of the largest manifest, and levels of indexes in indexes.
_MOST_JSON, _MOST_DEPTH = 4 << 20, 4
_CHUNK = 1 << 20


@dataclass(frozen=True)
class ImageFiles:
    """One image: the digest of its manifest, its layers from the lowest up, and how its programs run."""

    digest: str
    layers: tuple[Path, ...]
    env: tuple[str, ...]
    folder: str


def read(folder: Path, tag: str) -> ImageFiles:
    """The image of a layout, the one with this tag where it has several; UsageError with one line."""
    if not (folder / "index.json").is_file():
        raise UsageError(f"image: {folder} is no OCI layout: it has no index.json")
    try:
        return _read(folder, tag)
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise UsageError(f"image: {folder} is no OCI layout: {error!r}") from None
    except OSError as error:
        raise UsageError(f"image: {folder}: {error.filename}: {error.strerror}") from None


def _read(folder: Path, tag: str) -> ImageFiles:
    chosen = _with_tag(folder, list(_json((folder / "index.json").read_bytes())["manifests"]), tag)
    manifest = _manifest(folder, chosen)
    settings = _blob_json(folder, manifest["config"]).get("config") or {}
    layers = []
    for layer in manifest["layers"]:
        if layer["mediaType"].endswith("zstd"):
            raise UsageError(f"image: {folder}: layers compressed by zstd are not supported: use gzip")
        layers.append(_blob(folder, layer))
    env = tuple(str(one) for one in settings.get("Env") or () if "=" in one and "\0" not in one)
    return ImageFiles(chosen["digest"], tuple(layers), env, str(settings.get("WorkingDir") or "/"))


def check_digest(path: Path) -> None:
    """Raise UsageError unless the contents of a blob are those that its name promises."""
    digest_of = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(_CHUNK):
            digest_of.update(part)
    if digest_of.hexdigest() != path.name:
        raise UsageError(f"image: {path} is damaged: its digest is another")


def _with_tag(folder: Path, manifests: list[Any], tag: str) -> Any:
    """The descriptor that has the tag; without one, the only one."""
    tags = [(one.get("annotations") or {}).get(_TAG, "") for one in manifests]
    if tag:
        if tag not in tags:
            known = ", ".join(filter(None, tags)) or "none"
            raise UsageError(f"image: {folder} has no image {tag}: its tags are {known}")
        return manifests[tags.index(tag)]
    if len(manifests) != 1:
        known = ", ".join(filter(None, tags)) or "none"
        raise UsageError(
            f"image: {folder} has {len(manifests)} images: give oci:DIR:TAG, with a tag of {known}"
        )
    return manifests[0]


def _manifest(folder: Path, chosen: Any) -> Any:
    """The manifest of an image; of several machines, that of this one."""
    for _ in range(_MOST_DEPTH):
        manifest = _blob_json(folder, chosen)
        if chosen.get("mediaType") not in _INDEXES and "manifests" not in manifest:
            return manifest
        machine = _MACHINES.get(platform.machine(), platform.machine())
        fitting = list(_for(machine, manifest["manifests"]))
        if not fitting:
            raise UsageError(f"image: {folder} has no image for {machine}")
        chosen = fitting[0]
    raise UsageError(f"image: {folder} has indexes in indexes")


def _for(machine: str, manifests: list[Any]) -> Iterator[Any]:
    for one in manifests:
        where = one.get("platform") or {}
        if (where.get("architecture", machine), where.get("os", "linux")) == (machine, "linux"):
            yield one


def _blob(folder: Path, descriptor: Any) -> Path:
    """The file of a descriptor."""
    digest = str(descriptor["digest"])
    if not _DIGEST.fullmatch(digest):
        raise UsageError(f"image: {folder}: the digest {digest[:80]!r} is not supported: only sha256 is")
    return folder / "blobs" / "sha256" / digest.partition(":")[2]


def _blob_json(folder: Path, descriptor: Any) -> Any:
    path = _blob(folder, descriptor)
    if path.stat().st_size > _MOST_JSON:
        raise UsageError(f"image: {path} is too large for a manifest")
    check_digest(path)
    return _json(path.read_bytes())


def _json(data: bytes) -> Any:
    value = json.loads(data)
    if not isinstance(value, dict):
        raise ValueError("a JSON object was expected")
    return value
