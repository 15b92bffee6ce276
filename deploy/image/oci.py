"""Joins images of several architectures in one archive: an OCI image layout whose index names them, as
`docker buildx build --output type=oci` writes it. `ctr images import` takes from it the image of the node's
architecture, `skopeo copy --all` each of them.

The same input gives the same bytes.
"""

import hashlib
import json
import os
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

import archive

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"


def write_index(path: Path, images: Sequence[Path]) -> None:
    """Writes to `path`, whole or not at all, the images that archive.write_archive() wrote, by the names of the
    first."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        whole = Path(folder) / "image.tar"
        with tarfile.open(whole, "w", format=tarfile.GNU_FORMAT) as tar:
            archive.add(tar, "oci-layout", archive.json_bytes({"imageLayoutVersion": "1.0.0"}))
            added = [_add_image(tar, image) for image in images]
            index = _add_list(tar, INDEX, manifests=[manifest for manifest, _ in added])
            names = [{**index, "annotations": _annotations(name)} for name in added[0][1]]
            top = {"schemaVersion": 2, "mediaType": INDEX, "manifests": names}
            archive.add(tar, "index.json", archive.json_bytes(top))
        os.replace(whole, path)


def _add_image(tar: tarfile.TarFile, image: Path) -> tuple[dict, list[str]]:
    """What the index says of an image, and the image's names."""
    with tarfile.open(image) as docker:
        (said,) = json.load(docker.extractfile("manifest.json"))
        config = docker.extractfile(said["Config"]).read()
        layers = [_add_blob(tar, LAYER, docker.extractfile(name).read()) for name in said["Layers"]]
    manifest = _add_list(tar, MANIFEST, config=_add_blob(tar, CONFIG, config), layers=layers)
    platform = {key: json.loads(config)[key] for key in ("architecture", "os")}
    return {**manifest, "platform": platform}, said["RepoTags"]


def _add_list(tar: tarfile.TarFile, kind: str, **content) -> dict:
    return _add_blob(tar, kind, archive.json_bytes({"schemaVersion": 2, "mediaType": kind, **content}))


def _add_blob(tar: tarfile.TarFile, kind: str, data: bytes) -> dict:
    digest = hashlib.sha256(data).hexdigest()
    archive.add(tar, f"blobs/sha256/{digest}", data)
    return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(data)}


def _annotations(name: str) -> dict[str, str]:
    """The name whole, for containerd, and its tag, for readers of OCI layouts."""
    first, slash, _ = name.partition("/")
    if not slash:
        whole = f"docker.io/library/{name}"
    elif "." in first or ":" in first or first == "localhost":
        whole = name
    else:
        whole = f"docker.io/{name}"
    return {"io.containerd.image.name": whole, "org.opencontainers.image.ref.name": name.rpartition(":")[2]}
