"""The registry of a lab. Its nodes' containerd asks it for every image, whatever registry the
image's name begins with, so published manifests run unchanged, `imagePullPolicy: Always` too. What
is only imported on a node (lab/load-image FILE.tar) is not in it, as it would not be in yours.

It serves what containerd needs to pull (OCI distribution: manifests and blobs, read-only), from a
folder:

    blobs/sha256/DIGEST       layers, image configurations and manifests
    names/NAME                the digest of the manifest of an image; a slash in NAME is written %2F

python3 -m lab.cluster.registry FOLDER ADDRESS PORT
"""

import hashlib
import http.server
import json
import os
import pathlib
import shutil
import sys
import tarfile
import urllib.parse

from .errors import LabError

PORT = 5000
# Where containerd looks for the mirrors of a registry; `_default` is for those without a file.
HOSTS_FOLDER = "/etc/containerd/certs.d"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"


def hosts(address: str) -> str:
    """containerd's file that redirects it to the registry at this address."""
    return f'[host."http://{address}:{PORT}"]\n  capabilities = ["pull", "resolve"]\n'


def full_name(name: str) -> str:
    """An image's name with its registry, docker.io/library/NAME by default."""
    first, slash, _ = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return name
    return f"docker.io/{name}" if slash else f"docker.io/library/{name}"


def add(folder: pathlib.Path, archive: pathlib.Path, names: list[str]) -> None:
    """Adds the image of a docker archive (deploy/image/archive.py) under these names with tags."""
    with tarfile.open(archive) as tar:
        try:
            [image] = json.load(tar.extractfile("manifest.json"))
            config = _add_member(folder, tar, image["Config"])
            layers = [_add_member(folder, tar, layer) for layer in image["Layers"]]
        except (KeyError, TypeError, ValueError) as error:
            raise LabError(f"{archive} is no docker archive of one image: {error}") from error
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": {"mediaType": _CONFIG, **config},
            "layers": [{"mediaType": _LAYER, **layer} for layer in layers],
        }
    ).encode()
    digest = hashlib.sha256(manifest).hexdigest()
    _blob(folder, digest).write_bytes(manifest)
    for name in names:
        _write(_name_file(folder, full_name(name)), digest)


def make(folder: pathlib.Path) -> None:
    (folder / "blobs" / "sha256").mkdir(parents=True)
    (folder / "names").mkdir()


def _add_member(folder: pathlib.Path, tar: tarfile.TarFile, member: str) -> dict:
    new = folder / "blobs" / ".new"
    with tar.extractfile(member) as source, new.open("wb") as target:
        shutil.copyfileobj(source, target)
    with new.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    size = new.stat().st_size
    os.replace(new, _blob(folder, digest))
    return {"digest": f"sha256:{digest}", "size": size}


def _blob(folder: pathlib.Path, digest: str) -> pathlib.Path:
    return folder / "blobs" / "sha256" / digest


def _name_file(folder: pathlib.Path, name: str) -> pathlib.Path:
    return folder / "names" / urllib.parse.quote(name, safe="")


def _write(path: pathlib.Path, text: str) -> None:
    new = path.with_name(f".{path.name}")
    new.write_text(text)
    os.replace(new, path)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    folder: pathlib.Path

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, with_body: bool) -> None:
        url = urllib.parse.urlsplit(self.path)
        if url.path in ("/v2", "/v2/"):
            return self._send(200, "application/json", 2, [b"{}"] if with_body else [])
        registry = urllib.parse.parse_qs(url.query).get("ns", ["docker.io"])[0]
        found = self._find(url.path, registry)
        if found is None:
            return self._send(404, "application/json", 2, [b"{}"] if with_body else [])
        digest, kind = found
        with _blob(self.folder, digest).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            chunks = iter(lambda: file.read(1 << 20), b"") if with_body else []
            self._send(200, kind, size, chunks, digest)

    def _find(self, path: str, registry: str) -> tuple[str, str] | None:
        """The digest and media type of what a path names; None: nothing."""
        for word, kind in (("/manifests/", _MANIFEST), ("/blobs/", "application/octet-stream")):
            repository, slash, reference = path.removeprefix("/v2/").rpartition(word)
            if slash:
                break
        else:
            return None
        digest = reference.removeprefix("sha256:")
        if digest == reference:
            file = _name_file(self.folder, f"{registry}/{repository}:{reference}")
            digest = file.read_text() if file.is_file() else ""
        is_digest = len(digest) == 64 and set(digest) <= set("0123456789abcdef")
        return (digest, kind) if is_digest and _blob(self.folder, digest).is_file() else None

    def _send(self, code: int, kind: str, size: int, chunks, digest: str = "") -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(size))
        if digest:
            self.send_header("Docker-Content-Digest", f"sha256:{digest}")
        self.end_headers()
        for chunk in chunks:
            self.wfile.write(chunk)


def serve(folder: pathlib.Path, address: str, port: int) -> None:
    handler = type("Handler", (_Handler,), {"folder": folder})
    http.server.ThreadingHTTPServer((address, port), handler).serve_forever()


if __name__ == "__main__":
    where, at, number = sys.argv[1:]
    serve(pathlib.Path(where), at, int(number))
