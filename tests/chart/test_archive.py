"""deploy/image/archive.py: its output is an image that a container runtime loads, and the same
bytes every time."""

import hashlib
import io
import json
import os
import stat
import tarfile

import pytest
from archive import Content, Directory, Symlink, write_archive
from oci import write_index


def read(path) -> tuple[dict, dict, tarfile.TarFile]:
    """Manifest, configuration and layer, each checked against the digest that names it."""
    with tarfile.open(path) as image:
        (manifest,) = json.load(image.extractfile("manifest.json"))
        config = image.extractfile(manifest["Config"]).read()
        (name,) = manifest["Layers"]
        layer = image.extractfile(name).read()
    assert manifest["Config"] == hashlib.sha256(config).hexdigest() + ".json"
    assert json.loads(config)["rootfs"]["diff_ids"] == ["sha256:" + hashlib.sha256(layer).hexdigest()]
    return manifest, json.loads(config), tarfile.open(fileobj=io.BytesIO(layer))


@pytest.fixture
def program(tmp_path):
    file = tmp_path / "program"
    file.write_bytes(b"#!")
    file.chmod(0o755)
    return file


def test_an_image(tmp_path, program):
    out = write_archive(
        tmp_path / "i.tar",
        tags=["a:1", "here/b:2"],
        files={
            "/usr/bin/p": program,
            "/etc/x": b"x",
            "/tmp": Directory(0o1777),
            "/bin": Symlink("usr/bin"),
            "/s": Content(b"s", 0o600),
        },
        entrypoint=["/usr/bin/p"],
        cmd=["c"],
        env={"A": "b"},
        workdir="/w",
        labels={"l": "m"},
        arch="arm64",
    )
    assert out == tmp_path / "i.tar"
    manifest, config, layer = read(out)
    assert manifest["RepoTags"] == ["a:1", "here/b:2"]
    assert (config["architecture"], config["os"]) == ("arm64", "linux")
    assert config["config"] == {
        "Entrypoint": ["/usr/bin/p"],
        "Cmd": ["c"],
        "Env": ["A=b"],
        "WorkingDir": "/w",
        "Labels": {"l": "m"},
    }
    assert {m.name: (m.type, m.mode) for m in layer} == {
        "bin": (tarfile.SYMTYPE, 0o777),
        "etc": (tarfile.DIRTYPE, 0o755),
        "etc/x": (tarfile.REGTYPE, 0o644),
        "s": (tarfile.REGTYPE, 0o600),
        "tmp": (tarfile.DIRTYPE, 0o1777),
        "usr": (tarfile.DIRTYPE, 0o755),
        "usr/bin": (tarfile.DIRTYPE, 0o755),
        "usr/bin/p": (tarfile.REGTYPE, 0o755),
    }
    assert layer.extractfile("usr/bin/p").read() == b"#!"
    assert layer.getmember("bin").linkname == "usr/bin"
    assert {(m.uid, m.gid, m.mtime, m.uname) for m in layer} == {(0, 0, 0, "")}


def test_the_same_bytes_every_time(tmp_path, program):
    files = {"/b": program, "/a": b"1", "/c/d": Symlink("/a")}
    one = write_archive(tmp_path / "1.tar", tags=["a:1"], files=files)
    os.utime(program, (5, 5))
    two = write_archive(tmp_path / "2.tar", tags=["a:1"], files=dict(reversed(files.items())))
    assert one.read_bytes() == two.read_bytes()


def test_a_folder_is_taken_whole(tmp_path):
    folder = tmp_path / "f"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub/x").write_text("x")
    (folder / "link").symlink_to("sub/x")
    _, _, layer = read(write_archive(tmp_path / "i.tar", tags=["a:1"], files={"/data": folder}))
    assert sorted(layer.getnames()) == ["data", "data/link", "data/sub", "data/sub/x"]
    assert layer.getmember("data/link").linkname == "sub/x"


def test_a_link_of_this_machine_is_followed(tmp_path, program):
    link = tmp_path / "link"
    link.symlink_to(program)
    _, _, layer = read(write_archive(tmp_path / "i.tar", tags=["a:1"], files={"/p": link}))
    assert layer.getmember("p").isreg() and stat.S_IMODE(layer.getmember("p").mode) == 0o755


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tags": []}, "at least one NAME:TAG"),
        ({"tags": "a:1"}, "give a list"),
        ({"tags": ["a"]}, "'a' is not NAME:TAG"),
        ({"tags": ["A:1"]}, "'A:1' is not NAME:TAG"),
        ({"arch": "mips"}, "'mips' is not one of amd64, arm64"),
        ({"files": {"a": b""}}, "'a' is not an absolute path"),
        ({"files": {"/a/../b": b""}}, "not an absolute path"),
        ({"files": {"/": b""}}, "not an absolute path"),
        ({"files": {"/a": "/does/not/exist"}}, "/does/not/exist does not exist"),
        ({"files": {"/a": b"", "/a/b": b""}}, "/a/b lies below /a, which is not a folder"),
        ({"files": {"/a": b"1", "//a": b"2"}}, "/a is given twice"),
        ({"files": {"/a": "/dev/null"}}, "/dev/null is not a regular file"),
    ],
)
def test_refused_and_nothing_is_left(tmp_path, change, message):
    arguments = {"tags": ["a:1"], "files": {"/a": b""}} | change
    with pytest.raises(ValueError, match=message):
        write_archive(tmp_path / "i.tar", **arguments)
    assert list(tmp_path.iterdir()) == []


def test_images_of_two_architectures_in_one_archive(tmp_path):
    tags = ["a:1", "here/b:2", "here.example/b:3"]
    images = [
        write_archive(tmp_path / f"{arch}.tar", tags=tags, files={"/a": arch.encode(), "/b": b""}, arch=arch)
        for arch in ("amd64", "arm64")
    ]
    out = tmp_path / "both.tar"
    write_index(out, images)
    with tarfile.open(out) as tar:
        members = {member.name: tar.extractfile(member).read() for member in tar}
    assert json.loads(members.pop("oci-layout")) == {"imageLayoutVersion": "1.0.0"}
    top = json.loads(members.pop("index.json"))

    def blob(said: dict) -> bytes:
        data = members["blobs/" + said["digest"].replace(":", "/")]
        assert said["digest"] == "sha256:" + hashlib.sha256(data).hexdigest()
        assert said["size"] == len(data)
        return data

    assert [named["annotations"]["io.containerd.image.name"] for named in top["manifests"]] == [
        "docker.io/library/a:1",
        "docker.io/here/b:2",
        "here.example/b:3",
    ]
    tag = "org.opencontainers.image.ref.name"
    assert [named["annotations"][tag] for named in top["manifests"]] == ["1", "2", "3"]
    (index,) = {blob(named) for named in top["manifests"]}
    for image, one in zip(images, json.loads(index)["manifests"], strict=True):
        manifest = json.loads(blob(one))
        config = json.loads(blob(manifest["config"]))
        assert one["platform"] == {"architecture": image.stem, "os": "linux"}
        assert config == read(image)[1] and config["architecture"] == image.stem
        (layer,) = [blob(said) for said in manifest["layers"]]
        assert tarfile.open(fileobj=io.BytesIO(layer)).extractfile("a").read() == image.stem.encode()
    assert {key.rpartition("/")[0] for key in members} == {"blobs/sha256"} and len(members) == 7
    again = tmp_path / "again.tar"
    write_index(again, images)
    assert again.read_bytes() == out.read_bytes()
