"""The lab's registry, asked over HTTP as containerd asks."""

import hashlib
import http.client
import importlib.util
import json
import pathlib
import socket
import subprocess
import sys
import tarfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lab.cluster import registry  # noqa: E402
from lab.cluster.errors import LabError  # noqa: E402


def archive(path: pathlib.Path, tag: str) -> pathlib.Path:
    spec = importlib.util.spec_from_file_location("archive", ROOT / "deploy" / "image" / "archive.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["archive"] = module
    spec.loader.exec_module(module)
    return module.write_archive(path, tags=[tag], files={"/etc/motd": b"hello\n"})


@pytest.fixture
def folder(tmp_path):
    registry.make(tmp_path / "registry")
    return tmp_path / "registry"


@pytest.fixture
def ask(folder):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "lab.cluster.registry", folder, "127.0.0.1", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)

    def asked(method: str, path: str):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request(method, path)
        answer = connection.getresponse()
        return answer, answer.read()

    while True:
        try:
            asked("GET", "/v2/")
            break
        except ConnectionRefusedError:
            assert process.poll() is None
    yield asked
    process.kill()
    process.wait()


def test_an_image_is_pulled_by_any_name_that_it_was_given(tmp_path, folder, ask):
    image = archive(tmp_path / "image.tar", "ours:1")
    registry.add(folder, image, ["vendor.example/ai/cuda:12.5", "my-image:latest"])
    answer, manifest = ask("GET", "/v2/ai/cuda/manifests/12.5?ns=vendor.example")
    assert answer.status == 200
    digest = f"sha256:{hashlib.sha256(manifest).hexdigest()}"
    assert answer.headers["Docker-Content-Digest"] == digest
    assert answer.headers["Content-Type"] == json.loads(manifest)["mediaType"]
    for part in (json.loads(manifest)["config"], *json.loads(manifest)["layers"]):
        _, blob = ask("GET", f"/v2/ai/cuda/blobs/{part['digest']}?ns=vendor.example")
        assert len(blob) == part["size"]
        assert f"sha256:{hashlib.sha256(blob).hexdigest()}" == part["digest"]
    answer, body = ask("HEAD", "/v2/library/my-image/manifests/latest?ns=docker.io")
    assert (answer.status, answer.headers["Docker-Content-Digest"], body) == (200, digest, b"")
    answer, again = ask("GET", f"/v2/library/my-image/manifests/{digest}?ns=docker.io")
    assert again == manifest


@pytest.mark.parametrize(
    "path",
    [
        "/v2/library/other/manifests/latest?ns=docker.io",
        "/v2/ai/cuda/manifests/12.5?ns=elsewhere.example",
        "/v2/ai/cuda/blobs/sha256:" + 64 * "0",
        "/v2/x/blobs/sha256:../../../../etc/passwd",
        "/etc/passwd",
    ],
)
def test_what_it_has_not_is_not_found(tmp_path, folder, ask, path):
    registry.add(folder, archive(tmp_path / "image.tar", "ours:1"), ["vendor.example/ai/cuda:12.5"])
    answer, _ = ask("GET", path)
    assert answer.status == 404


def test_a_file_that_is_no_image_is_refused(tmp_path, folder):
    with tarfile.open(tmp_path / "plain.tar", "w") as tar:
        tar.add(__file__, "file")
    with pytest.raises(LabError, match="no docker archive of one image"):
        registry.add(folder, tmp_path / "plain.tar", ["a:1"])


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("my-image:latest", "docker.io/library/my-image:latest"),
        ("owner/image:1", "docker.io/owner/image:1"),
        ("vendor.example/ai/cuda:12.5", "vendor.example/ai/cuda:12.5"),
        ("localhost/image:1", "localhost/image:1"),
        ("host:5000/image:1", "host:5000/image:1"),
    ],
)
def test_a_name_without_a_registry_is_one_of_docker_io(name, full):
    assert registry.full_name(name) == full
