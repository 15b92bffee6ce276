"""deploy/image/build: the image holds what the program needs, is small, and its bill of materials names
every file."""

import hashlib
import io
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tarfile

import pytest
import yaml
from helm import ROOT

TRANCHE = pathlib.Path(os.environ.get("TRANCHE_BUILD", ROOT / "build")).resolve() / "bin/tranche"
BUILD = ROOT / "deploy/image/build"
BOTH = "linux/amd64,linux/arm64"
OWN, OTHER = sorted(BOTH.split(","), reverse=os.uname().machine == "aarch64")


def build(*arguments) -> subprocess.CompletedProcess:
    env = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    return subprocess.run([BUILD, *map(str, arguments)], env=env, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """(archive, layer, bill of materials)"""
    if not TRANCHE.exists():
        pytest.skip(f"{TRANCHE} is not built")
    out = tmp_path_factory.mktemp("image") / "tranche.tar"
    done = build("--tranche", TRANCHE, "--output", out)
    assert done.returncode == 0, done.stderr
    assert str(out) in done.stdout
    with tarfile.open(out) as archive:
        (manifest,) = json.load(archive.extractfile("manifest.json"))
        layer = archive.extractfile(manifest["Layers"][0]).read()
        config = json.load(archive.extractfile(manifest["Config"]))
    return (
        out,
        tarfile.open(fileobj=io.BytesIO(layer)),
        json.loads(out.with_name("tranche.spdx.json").read_text()),
        manifest,
        config,
    )


def test_size(image):
    assert image[0].stat().st_size <= 44 << 20


def build_id(program: pathlib.Path) -> str:
    done = subprocess.run(["readelf", "-nW", program], capture_output=True, text=True, check=True)
    return re.search(r"Build ID: (\w+)", done.stdout)[1]


def test_a_core_is_read_with_the_program_as_it_was_built(image, tmp_path):
    found = tmp_path / "tranche"
    found.write_bytes(image[1].extractfile("usr/bin/tranche").read())
    assert build_id(found) == build_id(TRANCHE)
    sections = subprocess.run(["readelf", "-SW", found], capture_output=True, text=True, check=True).stdout
    assert ".symtab" not in sections and ".dynsym" in sections


def test_the_size_that_the_page_tells_is_about_right(image):
    (told,) = re.findall(r"image has about (\d+) MiB", (ROOT / "docs" / "helm.md").read_text())
    assert abs(image[0].stat().st_size / (1 << 20) - int(told)) <= 2


def test_names_and_entrypoint_are_those_of_nvidias_image(image):
    _, layer, _, manifest, config = image
    for name in ("nvidia-device-plugin", "gpu-feature-discovery", "config-manager", "mps-control-daemon"):
        assert layer.getmember(f"usr/bin/{name}").linkname == "tranche"
    assert config["config"]["Entrypoint"] == ["/usr/bin/nvidia-device-plugin"]
    assert set(config["config"]["Env"]) >= {
        "NVIDIA_VISIBLE_DEVICES=all",
        "NVIDIA_DRIVER_CAPABILITIES=utility",
    }
    assert "tranche:latest" in manifest["RepoTags"]


def test_the_manifest_names_the_image_as_it_is_built(image):
    """deploy/daemonset.yaml works after an import; the lab applies it unchanged
    (tests/cluster/test_manifest.py)."""
    daemonset = yaml.safe_load((ROOT / "deploy/daemonset.yaml").read_text())
    (container,) = daemonset["spec"]["template"]["spec"]["containers"]
    assert container["image"] in image[3]["RepoTags"] and not container["image"].endswith(":latest")
    assert container["imagePullPolicy"] == "IfNotPresent"


def test_the_dockerfile_says_the_same(image):
    """Its files come from the same place; the rest is repeated in it."""
    text = (ROOT / "deploy/image/Dockerfile").read_text().replace("\\\n", " ")
    said = dict(re.findall(r"^(ENV|LABEL|ENTRYPOINT) (.*)$", text, flags=re.M))
    config = image[4]["config"]
    assert shlex.split(said["ENV"]) == config["Env"]
    assert dict(word.split("=", 1) for word in shlex.split(said["LABEL"])) == config["Labels"]
    assert json.loads(said["ENTRYPOINT"]) == config["Entrypoint"]


def test_the_driver_finds_what_it_needs(image):
    names = image[1].getnames()
    triplet = "x86_64-linux-gnu" if "usr/lib/x86_64-linux-gnu" in names else "aarch64-linux-gnu"
    for library in ("libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0", "librt.so.1"):
        assert f"usr/lib/{triplet}/{library}" in names
    assert {"etc/debian_version", "etc/ld.so.conf.d"} <= set(names)


def test_nothing_else_can_be_run(image):
    programs = [m.name for m in image[1] if m.isreg() and m.mode & 0o111 and not m.name.startswith("usr/lib")]
    assert programs == ["usr/bin/tranche", "usr/bin/tranche-top"]


def test_the_bill_names_every_file(image):
    _, layer, bill, *_ = image
    wanted = {f"./{m.name}": layer.extractfile(m).read() for m in layer if m.isreg()}
    named = {
        f["fileName"]: {c["algorithm"]: c["checksumValue"] for c in f["checksums"]} for f in bill["files"]
    }
    assert named == {
        name: {"SHA1": hashlib.sha1(data).hexdigest(), "SHA256": hashlib.sha256(data).hexdigest()}
        for name, data in wanted.items()
    }


def test_the_bill_is_spdx_and_hangs_together(image):
    bill = image[2]
    assert (bill["spdxVersion"], bill["dataLicense"], bill["SPDXID"]) == (
        "SPDX-2.3",
        "CC0-1.0",
        "SPDXRef-DOCUMENT",
    )
    assert bill["creationInfo"]["created"] == "2023-11-14T22:13:20Z"
    ids = [e["SPDXID"] for e in [bill, *bill["packages"], *bill["files"]]]
    assert len(ids) == len(set(ids))
    relations = {
        (r["spdxElementId"], r["relationshipType"], r["relatedSpdxElement"]) for r in bill["relationships"]
    }
    assert {x for a, _, b in relations for x in (a, b)} <= set(ids)
    assert ("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-image") in relations
    contained = {b for _, how, b in relations if how in ("CONTAINS", "STATIC_LINK")}
    assert {e["SPDXID"] for e in bill["files"]} <= contained
    assert {p["SPDXID"] for p in bill["packages"]} - {"SPDXRef-image"} <= contained


def test_the_bill_names_what_is_linked_in(image):
    bill = image[2]
    names = {p["name"]: p for p in bill["packages"]}
    linked = {
        r["relatedSpdxElement"] for r in bill["relationships"] if r["relationshipType"] == "STATIC_LINK"
    }
    for name in ("libevent-dev", "libgrpc++-dev", "libprotobuf-dev", "libyaml-cpp-dev"):
        assert names[name]["SPDXID"] in linked
    for name in ("libssl-dev", "nlohmann-json3-dev"):  # headers only
        assert names[name]["SPDXID"] not in linked
    version = subprocess.run(
        ["dpkg-query", "-W", "-f=${Version}", "libc6"], capture_output=True, text=True, check=True
    ).stdout
    assert names["libc6"]["versionInfo"] == version
    assert names["libc6"]["externalRefs"][0]["referenceLocator"].startswith("pkg:deb/debian/libc6@")


def test_the_bill_names_the_library_of_the_web_page(image):
    """In a program that carries the page."""
    npm = {
        p["name"]: (p["versionInfo"], p["licenseDeclared"])
        for p in image[2]["packages"]
        for reference in p.get("externalRefs", ())
        if reference["referenceLocator"].startswith("pkg:npm/")
    }
    carried = b"uPlot" in TRANCHE.read_bytes()
    wanted = json.loads((ROOT / "web/package.json").read_text())["dependencies"] if carried else {}
    assert npm == {name: (version, "MIT") for name, version in wanted.items()}


def test_the_same_bytes_every_time(image, tmp_path):
    out = image[0]
    assert build("--tranche", TRANCHE, "--output", tmp_path / "tranche.tar").returncode == 0
    for name in ("tranche.tar", "tranche.spdx.json"):
        assert (tmp_path / name).read_bytes() == (out.parent / name).read_bytes()


@pytest.mark.skipif(os.geteuid() != 0, reason="chroot needs root")
def test_it_runs_with_nothing_but_the_image(image, tmp_path):
    assert build("--tranche", TRANCHE, "--rootfs", tmp_path / "r").returncode == 0
    for name in ("tranche", "nvidia-device-plugin"):
        done = subprocess.run(
            ["chroot", tmp_path / "r", f"/usr/bin/{name}", "--help"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    tree = {str(p.relative_to(tmp_path / "r")) for p in (tmp_path / "r").rglob("*")}
    assert tree == set(image[1].getnames())


@pytest.mark.skipif(os.geteuid() != 0, reason="chroot needs root")
def test_every_library_finds_its_own(image, tmp_path):
    """Also what the program loads by name, such as libcurl and OpenSSL, unknown to the loader."""
    assert build("--tranche", TRANCHE, "--rootfs", tmp_path / "r").returncode == 0
    libraries = [f"/{name}" for name in image[1].getnames() if re.match(r"usr/lib.*\.so", name)]
    loader = next(name for name in libraries if "/ld-linux" in name)
    for name in ("libcurl.so.4", "libssl.so.3"):
        assert any(library.endswith(f"/{name}") for library in libraries)
    for library in [*libraries, "/usr/bin/tranche"]:
        if library == loader:
            continue
        command = ["chroot", tmp_path / "r", loader, "--list", library]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and "not found" not in done.stdout, library + done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tranche", "/does/not/exist"], "/does/not/exist does not exist; run make first"),
        (["--tranche", "/bin/ls"], "has no build.ninja"),
        (["--tranche", TRANCHE, "--max-size", "1"], "more than 1 (--max-size)"),
        (["--tranche", TRANCHE, "--rootfs", "/usr"], "/usr is not empty"),
        (["--tranche", TRANCHE, "--tag", "A"], "'A' is not NAME:TAG"),
        (["--platform", "linux/mips"], "'linux/mips' is not one of linux/amd64, linux/arm64"),
        (["--platform", BOTH, "--tranche", TRANCHE], "--tranche is about one platform"),
        (["--platform", BOTH, "--build", "build"], "--build is about one platform"),
        (
            ["--platform", OTHER, "--tranche", TRANCHE],
            f"of {OWN[6:]}, and the image for {OTHER[6:]}; give --platform {OWN}",
        ),
    ],
)
def test_refused(arguments, message, tmp_path):
    if TRANCHE in arguments and not TRANCHE.exists():
        pytest.skip(f"{TRANCHE} is not built")
    if "--rootfs" not in arguments:
        arguments = [*arguments, "--output", tmp_path / "i.tar"]
    done = build(*arguments)
    assert done.returncode == 1
    assert message in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "i.tar").exists()


def test_the_limiters_library_lies_where_the_program_looks(tmp_path):
    if not TRANCHE.exists():
        pytest.skip(f"{TRANCHE} is not built")
    # Any library of this architecture will do: the image does not look into it.
    library = next(TRANCHE.parents[1].glob("lib/*.so"))
    tree = tmp_path / "tree"
    done = build("--tranche", TRANCHE, "--rootfs", tree, "--limit-library", library)
    assert done.returncode == 0, done.stderr
    file = tree / "usr/lib/libtranche-limit.so"
    assert file.read_bytes() == library.read_bytes()
    assert file.stat().st_mode & 0o777 == 0o755
    bill = json.loads((tmp_path / "tree.spdx.json").read_text())
    assert "./usr/lib/libtranche-limit.so" in [file["fileName"] for file in bill["files"]]


def test_the_runtimes_hook_lies_beside_the_limiters_library(tmp_path):
    if not TRANCHE.exists():
        pytest.skip(f"{TRANCHE} is not built")
    library = tmp_path / "lib" / "libtranche-limit.so"
    library.parent.mkdir()
    shutil.copy(next(TRANCHE.parents[1].glob("lib/*.so")), library)
    shutil.copy(TRANCHE, library.with_name("tranche-limit-hook"))
    done = build("--tranche", TRANCHE, "--rootfs", tmp_path / "tree", "--limit-library", library)
    assert done.returncode == 0, done.stderr
    file = tmp_path / "tree/usr/lib/tranche-limit-hook"
    assert file.read_bytes() == TRANCHE.read_bytes()
    assert file.stat().st_mode & 0o777 == 0o755


def test_a_limiters_library_that_is_none_is_refused(tmp_path):
    if not TRANCHE.exists():
        pytest.skip(f"{TRANCHE} is not built")
    (tmp_path / "library").write_text("no ELF")
    done = build("--tranche", TRANCHE, "--rootfs", tmp_path / "tree", "--limit-library", tmp_path / "library")
    assert done.returncode != 0
    assert "is not an ELF file" in done.stderr
    missing = tmp_path / "missing"
    done = build("--tranche", TRANCHE, "--rootfs", tmp_path / "tree", "--limit-library", missing)
    assert done.returncode != 0
    assert str(missing) in done.stderr
