"""`tranche lint` through the binary: each kind of file, hostile ones, and its corrections on a real
API server."""

import contextlib
import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios

import pytest
import yaml
from programs import ROOT, TRANCHE, clean_environment
from test_schemas import closed, schema, validator

sys.path.append(str(ROOT / "tests" / "chart"))
from api_server import Refused, running_server  # noqa: E402

DATA = ROOT / "tests" / "data" / "lint"
PUBLISHED = ROOT / "tests" / "data" / "scenarios" / "platform" / "dra-as-published.yaml"
PLURALS = {
    "DeviceClass": "apis/resource.k8s.io/v1/deviceclasses",
    "ResourceClaim": "apis/resource.k8s.io/v1/namespaces/{}/resourceclaims",
    "ResourceClaimTemplate": "apis/resource.k8s.io/v1/namespaces/{}/resourceclaimtemplates",
    "ResourceSlice": "apis/resource.k8s.io/v1/resourceslices",
    "Pod": "api/v1/namespaces/{}/pods",
}


def lint(*arguments, text: str | bytes = "", cwd=None, **env) -> subprocess.CompletedProcess:
    done = subprocess.run(
        [TRANCHE, "lint", *map(str, arguments)],
        env=clean_environment(**env),
        cwd=cwd,
        input=text.encode() if isinstance(text, str) else text,
        capture_output=True,
        timeout=60,
    )
    done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
    return done


def document(*arguments, text: str | bytes = "", code: int = 1) -> dict:
    done = lint(*arguments, "-o", "json", text=text)
    assert done.returncode == code, done.stdout + done.stderr
    found = json.loads(done.stdout)
    validator(closed(schema("lint-v1"))).validate(found)
    return found


def findings(*arguments, text: str | bytes = "", code: int = 1) -> list[str]:
    return [
        f"{one.get('line', 0)} {one['level']} {one.get('path', '')}: {one['what']}"
        for file in document(*arguments, text=text, code=code)["files"]
        for one in file["findings"]
    ]


def assert_findings(found: list[str], expected: list[str]):
    assert len(found) == len(expected), found
    for one, beginning in zip(found, expected, strict=True):
        assert one.startswith(beginning), found


# --- reports ----------------------------------------------------------------------------------

REPORTS = ROOT / "tests" / "data" / "reports"


def test_a_configuration_of_comments_alone_is_named_with_its_key():
    found = findings(REPORTS / "01-comment-alone" / "configmap.yaml", code=0)
    nothing = "the file is empty: nothing is shared"
    assert_findings(found, [f"8 warning data.default: {nothing}", f"10 warning data.l20: {nothing}"])
    assert lint("--strict", REPORTS / "01-comment-alone" / "configmap.yaml").returncode == 1
    assert_findings(findings(REPORTS / "01-comment-alone" / "commented-out.yaml"), ["1 error : the file holds nothing"])
    assert findings("-", text="version: v1\n", code=0) == []


@pytest.mark.parametrize(
    "file, said",
    [
        ("mps-root", "2 error flags.mpsRoot: /tmp/mps is in no folder from which a file may name one"),
        ("memory-hard", "2 error tranche.limits.memoryHard: `memoryHard` 4Gi is less than `memory` 8Gi"),
    ],
)
def test_what_the_agent_refuses_everywhere_is_an_error(file, said):
    assert_findings(findings(REPORTS / "06-lint-passes-what-is-refused" / f"{file}.yaml"), [said])


# --- the platform scenario --------------------------------------------------------------------


def test_the_published_manifest_is_refused_with_its_reasons_and_printed_corrected():
    done = lint(PUBLISHED)
    assert done.returncode == 1
    assert f"{PUBLISHED}:10: error: device.attributes['memory']: memory is no attribute" in done.stdout
    assert f"{PUBLISHED}:21: error: deviceClassName, count stand beside name" in done.stdout
    assert "2 errors (2 corrected), no warnings in 3 documents" in done.stdout
    printed = list(yaml.safe_load_all(done.stdout.split("# corrected: ")[1].split("\n", 1)[1]))
    as_read = list(yaml.safe_load_all(PUBLISHED.read_text()))
    as_read[0]["spec"]["selectors"][0]["cel"]["expression"] = (
        "device.driver == 'gpu.nvidia.com' && "
        "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40000Mi')) >= 0"
    )
    as_read[1]["spec"]["devices"]["requests"] = [
        {"name": "gpu", "exactly": {"deviceClassName": "gpu-large", "count": 1}}
    ]
    assert printed == as_read


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("server")) as one:
        yield one


def create(server, thing: dict):
    namespace = thing["metadata"].get("namespace", "default")
    if namespace != "default":
        # 409: an earlier test made it.
        with contextlib.suppress(Refused):
            server.request(
                "POST",
                "/api/v1/namespaces",
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
            )
    if thing["kind"] == "Pod":
        thing = {**thing, "spec": {**thing["spec"], "automountServiceAccountToken": False}}
        with contextlib.suppress(Refused):
            server.request(
                "POST",
                f"/api/v1/namespaces/{namespace}/serviceaccounts",
                {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}},
            )
    path = "/" + PLURALS[thing["kind"]].format(namespace) + "?fieldValidation=Strict"
    return server.request("POST", path, thing)


@pytest.mark.parametrize("file", [PUBLISHED, DATA / "old-shapes.yaml"], ids=lambda path: path.stem)
def test_a_real_api_server_takes_what_is_corrected(server, file, tmp_path):
    with pytest.raises(Refused):
        for thing in yaml.safe_load_all(file.read_text()):
            if thing["kind"] in PLURALS and not thing["apiVersion"].startswith("resource.k8s.io/v1a"):
                create(server, thing)
            else:
                raise Refused(404, f"{thing['apiVersion']} is not served")
    done = lint("--fix-to", tmp_path, file)
    assert done.returncode == 1 and f"corrected: {tmp_path / file.name}" in done.stdout
    again = lint(tmp_path / file.name)
    assert again.returncode == 0 and "corrected" not in again.stdout.splitlines()[0], again.stdout
    for thing in yaml.safe_load_all((tmp_path / file.name).read_text()):
        with contextlib.suppress(StopIteration):
            # The first part was accepted above before another was refused.
            server.request("DELETE", path_of(thing)) if is_there(server, thing) else None
        kept = create(server, thing)
        assert kept["spec"].keys() >= thing["spec"].keys()


def path_of(thing: dict) -> str:
    return (
        "/"
        + PLURALS[thing["kind"]].format(thing["metadata"].get("namespace", "default"))
        + "/"
        + thing["metadata"]["name"]
    )


def is_there(server, thing: dict) -> bool:
    try:
        server.request("GET", path_of(thing))
    except Refused:
        return False
    return True


# --- a cluster --------------------------------------------------------------------------------


def slice_of(driver: str, attributes: dict, capacity: dict) -> dict:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"n1-{driver}"},
        "spec": {
            "driver": driver,
            "nodeName": "n1",
            "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "gpu-0", "attributes": attributes, "capacity": capacity}],
        },
    }


def test_names_and_resources_are_compared_with_the_cluster(tmp_path):
    selector = "device.attributes['gpu.nvidia.com'].brand == 'x' || device.driver == 'gpu.amd.com'"
    manifest = tmp_path / "m.yaml"
    manifest.write_text(
        yaml.safe_dump_all([
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": {"name": "a"},
                "spec": {
                    "devices": {
                        "requests": [
                            {
                                "name": "g",
                                "exactly": {
                                    "deviceClassName": "gpu-shard",
                                    "selectors": [{"cel": {"expression": selector}}],
                                    "capacity": {"requests": {"memry": "1Gi"}},
                                },
                            }
                        ]
                    }
                },
            },
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "p"},
                "spec": {
                    "containers": [
                        {
                            "name": "m",
                            "image": "x",
                            "resources": {
                                "limits": {
                                    "nvidia.com/gpu.share": 1,
                                    "nvidia.com/gpu.shared": 9,
                                    "nvidia.com/mig-1g.10gb": 2,
                                }
                            },
                        }
                    ]
                },
            },
        ])
    )
    (tmp_path / "server").mkdir()
    with running_server(tmp_path / "server") as server:
        config = server.kubeconfig()
        empty = lint("--kubeconfig", config, manifest)
        assert "the cluster has no ResourceSlices" in empty.stderr
        assert "nobody" not in empty.stdout and "no node offers any resource with a domain" in empty.stdout
        server.request(
            "POST",
            "/api/v1/nodes",
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}},
        )
        node = server.request("GET", "/api/v1/nodes/n1")
        node["status"] = {
            "capacity": {"nvidia.com/gpu.shared": "8"},
            "allocatable": {"nvidia.com/gpu.shared": "8"},
        }
        server.request("PUT", "/api/v1/nodes/n1/status", node)
        create(server, slice_of("gpu.nvidia.com", {"productName": {"string": "L20"}}, {"memory": {"value": "1Gi"}}))
        create(
            server,
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "DeviceClass",
                "metadata": {"name": "gpu-share"},
                "spec": {"extendedResourceName": "nvidia.com/mig-1g.10gb"},
            },
        )
        done = lint("--kubeconfig", config, manifest)
        assert done.returncode == 1 and done.stderr == ""
        for part in (
            "have no DeviceClass gpu-shard\n",
            '    at ResourceClaim a: spec.devices.requests[0].exactly.deviceClassName\n    -> did you mean "gpu-share"?',
            "gpu.nvidia.com has no attribute and no capacity brand on any device of the cluster",
            "no ResourceSlice of the cluster has the driver 'gpu.amd.com'",
            "error: no device has a capacity memry",
            'no node offers nvidia.com/gpu.share, so the Pod would wait for ever',
            '-> did you mean "nvidia.com/gpu.shared"?',
            "asks 9 nvidia.com/gpu.shared, and no node has more than 8",
            "6 errors, no warnings in 2 documents",
        ):
            assert part in done.stdout, done.stdout
    away = lint("--kubeconfig", config, manifest)
    assert away.returncode == 3 and "tranche lint: " in away.stderr


def test_a_snapshot_has_the_nodes(tmp_path):
    sample = ROOT / "tests" / "data" / "snapshot-v1.json"
    offered = {
        name
        for node in json.loads(sample.read_text())["snapshot"]["nodes"]
        for name in node["node"]["status"]["allocatable"]
        if "/" in name
    }
    assert offered
    pod = "apiVersion: v1\nkind: Pod\nspec: {containers: [{resources: {limits: {%s: 1}}}]}\n"
    assert findings("--snapshot", sample, "-", text=pod % sorted(offered)[0], code=0) == []
    assert_findings(
        findings("--snapshot", sample, "-", text=pod % "example.com/none"),
        ["3 error spec.containers[0].resources.limits[example.com/none]: no node offers example.com/none"],
    )
    (tmp_path / "torn.json").write_text(sample.read_text()[:100])
    done = lint("--snapshot", tmp_path / "torn.json", "-", text=pod % "a/b")
    assert done.returncode == 2 and "torn.json" in done.stderr


def test_without_a_cluster_resources_are_named_that_nobody_looked_at():
    found = document(ROOT / "tests/data/scenarios/platform/pods.yaml", code=0)
    assert "nvidia.com/mig-1g.10gb" in found["unseenResources"]
    done = lint(ROOT / "tests/data/scenarios/platform/pods.yaml", KUBECONFIG="/nonexistent")
    assert done.returncode == 0 and "not looked at: whether nodes offer nvidia.com/gpu" in done.stdout


# --- each kind of file ------------------------------------------------------------------------


def test_fractions():
    assert_findings(
        findings(DATA / "fractions.yaml"),
        [
            "4 note items[0]: asks 0.5 of a GPU",
            "23 error items[1].spec.template.spec.initContainers[0].resources.limits[nvidia.com/gpu]: -0.5 is negative",
            "29 error items[1].spec.template.spec.containers[0].resources.limits[nvidia.com/gpu]: 1.5 is neither",
            "33 error items[1].spec.template.spec.containers[1].resources.limits[nvidia.com/gpu]: 0.005 is no step",
            "36 error items[1].spec.template.spec.containers[2].resources.limits[nvidia.com/gpu]: 333m is no step",
            "39 error items[1].spec.template.spec.containers[3].resources.requests[nvidia.com/gpu]: requests ask 1",
            "42 error items[1].spec.template.spec.containers[4].resources.limits[nvidia.com/mig-1g.10gb]: 0.5 of",
        ],
    )


def test_configurations_and_layouts():
    assert_findings(
        findings(DATA / "plugin-config.yaml"),
        [
            "3 error flags.migStrategy: unknown MIG strategy: sometimes",
            "8 error sharing.timeSlicing.resources[0].replicas",
        ],
    )
    assert_findings(findings(DATA / "mig-parted.yaml"), ['4 error : "devices" is neither all', '12 error : "10gb" is no name'])
    assert findings(ROOT / "tests/data/scenarios/platform/mig-parted-config.yaml", code=0) == []


def test_the_scenarios_as_they_are():
    done = lint(*sorted((ROOT / "tests/data/scenarios").glob("*/*.yaml")), "--strict")
    # One replica is not shared, and NVIDIA's plugin refuses it: a warning.
    assert "device-plugin-config.yaml:25: warning" in done.stdout
    assert "2 errors (2 corrected), 1 warning in" in done.stdout


def test_parameters_of_the_driver():
    claim = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
spec:
  devices:
    requests: [{name: g, exactly: {deviceClassName: c}}]
    config:
    - opaque:
        driver: gpu.nvidia.com
        parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategi: MPS}}
"""
    assert_findings(findings("-", text=claim), ["9 error spec.devices.config[0].opaque.parameters: "])


# --- files and streams ------------------------------------------------------------------------


def test_folders_and_where_corrected_files_go(tmp_path):
    source, target = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    old = {"apiVersion": "resource.k8s.io/v1beta2", "kind": "DeviceClass", "metadata": {"name": "a"}, "spec": {}}
    (source / "a.json").write_text(json.dumps(old, indent="\t"))
    (source / "b.yml").write_text("apiVersion: v1\nkind: Service\n")
    (source / "notes.txt").write_text("not read")
    done = lint("--fix-to", target, source)
    assert done.returncode == 1 and [p.name for p in target.iterdir()] == ["a.yaml"]
    assert yaml.safe_load((target / "a.yaml").read_text()) == {**old, "apiVersion": "resource.k8s.io/v1"}
    assert "# corrected" not in done.stdout

    (source / "a.yaml").write_text(yaml.safe_dump(old))
    for arguments in ([source], [source / "a.yaml"]):
        done = lint("--fix-to", source, *arguments)
        assert done.returncode == 2, done.stdout
        assert "would both become" in done.stderr or "would be replaced" in done.stderr
    assert yaml.safe_load((source / "a.yaml").read_text()) == old

    done = lint("--fix-to", target, "-", text=json.dumps(old))
    assert f"corrected: {target}/stdin.yaml" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "no file is named"),
        (["/nonexistent.yaml"], "No such file"),
        (["{folder}"], "no file ends in .yaml"),
        (["-o", "xml", "-"], "write table, json or yaml"),
        (["--fixto", "-"], "did you mean --fix-to?"),
        (["--snapshot", "/nonexistent", "-"], "No such file"),
        (["--snapshot", "x", "--cluster", "-"], "leave out one of them"),
        (["--kubeconfig", "/nonexistent", "-"], "/nonexistent"),
    ],
)
def test_what_nothing_can_be_looked_at_for(arguments, says, tmp_path):
    done = lint(*(one.format(folder=tmp_path) for one in arguments))
    assert done.returncode == 2 and says in done.stderr, done.stderr
    assert done.stdout == ""


HOSTILE = {
    "laughs": (
        "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n"
        + "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10)),
        "more than 100000 values",
    ),
    "deep": ("kind: " + "[" * 1_000_000, "error"),
    "deep-keys": ("".join(" " * i + "a:\n" for i in range(3000)), "error"),
    "long": ("a: " + "x" * (10 << 20), "no Kubernetes object"),
    "long-list": ("a:\n" + "- 1\n" * 2_000_000, "more than 100000 values"),
    "too-long": (b"#" * ((16 << 20) + 1), "at most 16 MiB"),
    "nul": (b"kind: Pod\n\0", "byte 0x00 here is no text"),
    "latin-1": ("kind: Pöd".encode("latin-1"), "byte 0xf6 here is no text"),
    "utf-16": ("kind: Pod".encode("utf-16"), "byte 0xff here is no text"),
    "twice": ("apiVersion: v1\nkind: Pod\nkind: Service\n", '"kind" is there twice'),
    "control": ('apiVersion: "\\e[31mv1"\nkind: "\\u0007"\n', "0 error"),
    "own-anchor": ("a: &a [*a]\n", "error"),
    "no-anchor": ("a: *a\n", "error"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_end_in_a_finding(name):
    text, says = HOSTILE[name]
    done = lint("-", text=text)
    assert done.returncode in (0, 1), done.stderr
    assert says in done.stdout or name == "control", done.stdout[:400]
    assert "\x1b" not in done.stdout and "\0" not in done.stdout
    assert len(done.stdout) < 100_000 and done.stderr == ""


# --- a terminal -------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [80, 120])
def test_lines_are_broken_at_the_width_of_a_terminal(width):
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    done = subprocess.run(
        [TRANCHE, "lint", PUBLISHED.name],
        cwd=PUBLISHED.parent,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        stdout=other,
        timeout=60,
    )
    os.close(other)
    assert done.returncode == 1
    printed = read_all(main).replace("\r\n", "\n").split("\n# corrected")[0]
    for line in printed.splitlines():
        assert len(line) <= width or max(map(len, line.split())) + 8 > width, printed
        assert line[0] != " " or line.startswith("    "), printed
    assert "\x1b" not in printed
    assert " ".join(printed.split()).count("-> write") == 2


def read_all(terminal: int) -> str:
    text = b""
    with contextlib.suppress(OSError):  # the end of a terminal
        while part := os.read(terminal, 65536):
            text += part
    os.close(terminal)
    return text.decode()


def test_completion_offers_files():
    script = subprocess.run(
        [TRANCHE, "completion", "bash"], capture_output=True, text=True, check=True
    ).stdout
    ask = 'COMP_WORDS=(tranche lint dra-as); COMP_CWORD=2; _tranche; echo "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "-c", f"{script}\n{ask}"], cwd=PUBLISHED.parent, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == PUBLISHED.name, done.stderr
