"""Writes a container image as a docker-archive tar, without a registry, a daemon or a build tool.

`ctr images import`, `docker load`, `podman load` and `skopeo` read what write_archive() writes. The same
input gives the same bytes: entries are sorted, times are zero, owners are root, and the one layer is not
compressed, so its digest is that of its content.

A file of the image is given as
    a path of this machine    its bytes and its mode (a link is followed); a folder whole, with its links
    bytes                     content, mode 0644
    Content(bytes, mode)      content with a mode
    Symlink(target)           a symbolic link
    Directory(mode)           an empty folder; folders above a file need no entry of their own (0755)
"""

import hashlib
import io
import json
import os
import re
import stat
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ARCHITECTURES = ("amd64", "arm64")
EPOCH = "1970-01-01T00:00:00Z"
TAG = re.compile(r"[a-z0-9][a-z0-9._/:-]*:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


@dataclass(frozen=True)
class Symlink:
    target: str


@dataclass(frozen=True)
class Content:
    data: bytes
    mode: int = 0o644


@dataclass(frozen=True)
class Directory:
    mode: int = 0o755


Source = str | os.PathLike | bytes | Content | Symlink | Directory


def write_archive(
    path: str | os.PathLike,
    *,
    tags: Sequence[str],
    files: Mapping[str, Source],
    entrypoint: Sequence[str] = (),
    cmd: Sequence[str] = (),
    env: Mapping[str, str] | Sequence[str] = (),
    workdir: str = "/",
    labels: Mapping[str, str] | None = None,
    arch: str = "amd64",
) -> Path:
    """Writes the image to `path`, whole or not at all, and returns it. Input that makes no image is a
    ValueError that names what is wrong."""
    _check(tags, arch)
    content = entries(files)
    out = Path(path)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as temporary:
        layer = Path(temporary) / "layer.tar"
        digest = _write_layer(layer, content)
        config = _config(digest, entrypoint, cmd, env, workdir, labels or {}, arch)
        whole = Path(temporary) / "image.tar"
        _write_image(whole, config, layer, digest, tags)
        os.replace(whole, out)
    return out


def _check(tags: Sequence[str], arch: str) -> None:
    if isinstance(tags, str) or not tags:
        raise ValueError("tags: give a list of at least one NAME:TAG")
    for tag in tags:
        if not TAG.fullmatch(tag):
            raise ValueError(f"tags: {tag!r} is not NAME:TAG")
    if arch not in ARCHITECTURES:
        raise ValueError(f"arch: {arch!r} is not one of {', '.join(ARCHITECTURES)}")


def entries(files: Mapping[str, Source]) -> dict[str, Source]:
    """Every entry of the layer by its path without the leading slash, folders above included."""
    found: dict[str, Source] = {}
    for name, source in files.items():
        for key, value in _expand(_relative(name), source):
            if found.get(key, value) != value:
                raise ValueError(f"files: /{key} is given twice")
            found[key] = value
    for key in list(found):
        for parent in list(PurePosixPath(key).parents)[:-1]:
            above = found.setdefault(str(parent), Directory())
            if not isinstance(above, Directory):
                raise ValueError(f"files: /{key} lies below /{parent}, which is not a folder")
    return dict(sorted(found.items()))


def _relative(name: str) -> str:
    path = PurePosixPath(name)
    if not path.is_absolute() or ".." in path.parts or len(path.parts) < 2:
        raise ValueError(f"files: {name!r} is not an absolute path of a file in the image")
    return str(path)[1:] if not str(path).startswith("//") else str(path)[2:]


def _expand(key: str, source: Source):
    """One entry, or all of a folder of this machine."""
    if isinstance(source, bytes | Content | Symlink | Directory):
        yield key, source
        return
    host = Path(source)
    if not host.exists():
        raise ValueError(f"files: /{key}: {host} does not exist")
    if not host.is_dir():
        yield key, host
        return
    yield key, Directory(stat.S_IMODE(host.stat().st_mode))
    for child in sorted(host.iterdir()):
        link = Symlink(os.readlink(child)) if child.is_symlink() else child
        yield from _expand(f"{key}/{child.name}", link)


def _write_layer(path: Path, entries: Mapping[str, Source]) -> str:
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        for key, source in entries.items():
            add(tar, key, source)
    with path.open("rb") as layer:
        return hashlib.file_digest(layer, "sha256").hexdigest()


def add(tar: tarfile.TarFile, key: str, source: Source) -> None:
    info = tarfile.TarInfo(key)  # owner 0:0, time 0
    match source:
        case Directory(mode):
            info.type, info.mode = tarfile.DIRTYPE, mode
            tar.addfile(info)
        case Symlink(target):
            info.type, info.mode, info.linkname = tarfile.SYMTYPE, 0o777, target
            tar.addfile(info)
        case bytes():
            add(tar, key, Content(source))
        case Content(data, mode):
            info.size, info.mode = len(data), mode
            tar.addfile(info, io.BytesIO(data))
        case _:
            with Path(source).open("rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise ValueError(f"files: /{key}: {source} is not a regular file")
                info.size, info.mode = status.st_size, stat.S_IMODE(status.st_mode)
                tar.addfile(info, file)


def _config(digest, entrypoint, cmd, env, workdir, labels, arch) -> bytes:
    variables = [f"{k}={v}" for k, v in env.items()] if isinstance(env, Mapping) else list(env)
    return json_bytes(
        {
            "architecture": arch,
            "os": "linux",
            "created": EPOCH,
            "config": {
                "Entrypoint": list(entrypoint),
                "Cmd": list(cmd),
                "Env": variables,
                "WorkingDir": workdir,
                "Labels": dict(labels),
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
            "history": [{"created": EPOCH, "created_by": "deploy/image"}],
        }
    )


def _write_image(path: Path, config: bytes, layer: Path, digest: str, tags: Sequence[str]) -> None:
    config_name = hashlib.sha256(config).hexdigest() + ".json"
    layer_name = f"{digest}/layer.tar"
    manifest = [{"Config": config_name, "RepoTags": list(tags), "Layers": [layer_name]}]
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        add(tar, config_name, config)
        add(tar, digest, Directory())
        add(tar, layer_name, layer)
        add(tar, "manifest.json", json_bytes(manifest))


def json_bytes(value) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
