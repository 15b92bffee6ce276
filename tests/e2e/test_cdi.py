"""CDI specification files: the published sample's machine gives the published sample."""

import json

import pytest

from node import GPU, sharing
from programs import ROOT, wait_until

CLASS = "k8s.device-plugin.nvidia.com"


def cdi_agent(here, *arguments, **options):
    return here.agent(
        "--device-list-strategy=cdi-cri",
        f"--driver-root={here.driver_root}",
        f"--driver-root-ctr-path={here.host}{here.driver_root}",
        "--nvidia-cdi-hook-path=/usr/local/nvidia/toolkit/nvidia-cdi-hook",
        *arguments,
        **options,
    )


def spec_file(here, name: str = "gpu"):
    return here.cdi / f"{CLASS}-{name}.json"


def without_numbers(spec: dict) -> dict:
    """Without the right to mknod, plain files stand in for device nodes."""
    edits = [spec["containerEdits"], *(device["containerEdits"] for device in spec["devices"])]
    for edit in edits:
        for one in edit.get("deviceNodes", []):
            for key in ("major", "minor", "fileMode", "type"):
                one.pop(key, None)
    return spec


def test_the_published_sample(node):
    here = node("cdi-sample")
    # The sample's machine had fewer control nodes and only one link to libraries.
    for file in [*here.host.rglob("nvidia-modeset"), *here.host.rglob("nvidia-uvm-tools")]:
        file.unlink()
    for file in here.host.rglob("*.so*"):
        if file.is_symlink() and file.name != "libnvidia-ml.so.1":
            file.unlink()
    cdi_agent(here)
    here.kubelet.wait(GPU, allocatable=8)
    spec = json.loads(spec_file(here).read_text())
    sample = json.loads((ROOT / "tests/data/cdi-sample.json").read_text())
    assert [one["name"] for one in spec["devices"]] == here.uuids()
    spec["devices"] = spec["devices"][:2]  # the sample keeps the first two
    if not (here.host / "dev/nvidia0").is_char_device():
        spec, sample = without_numbers(spec), without_numbers(sample)
    assert spec == sample
    assert spec_file(here).stat().st_mode & 0o777 == 0o644


def test_modes_whose_devices_are_there(node):
    here = node("l20")
    for path in ("dev/nvidia-fs0", "dev/infiniband/uverbs0", "dev/gdrdrv"):
        for root in (here.host, here.host / here.driver_root.lstrip("/")):
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.symlink_to("/dev/null")
    cdi_agent(here, "--gds-enabled", "--mofed-enabled", "--gdrcopy-enabled")
    here.kubelet.wait(GPU, allocatable=1)
    [uuid] = here.uuids()
    names = here.kubelet.allocate(GPU, [uuid])["cdi_devices"]
    assert names == [f"{CLASS}/{one}" for one in (f"gpu={uuid}", "gdrcopy=all", "gds=all", "mofed=all")]
    for name in names:
        kind, device = name.split("=")
        spec = json.loads(spec_file(here, kind.split("/")[1]).read_text())
        assert spec["kind"] == kind
        assert device in [one["name"] for one in spec["devices"]]


def test_files_follow_the_configuration(node):
    here = node("l20")
    agent = cdi_agent(here, config=sharing(2))
    here.kubelet.wait(GPU, allocatable=2)
    agent.wait_log("wrote .*-gpu.json")
    before = spec_file(here).read_text()
    # More tranches of the same GPU are no other devices.
    here.write(sharing(4))
    here.kubelet.wait(GPU, allocatable=4)
    assert spec_file(here).read_text() == before
    [uuid] = here.uuids()
    assert [one["name"] for one in json.loads(before)["devices"]] == [uuid]


@pytest.mark.difference("cdi-old-files")
def test_files_go_when_no_cdi_strategy_is_left(node):
    here = node("l20")
    driver = f"--driver-root-ctr-path={here.host}{here.driver_root}"
    here.agent(driver, config={"flags": {"plugin": {"deviceListStrategy": "cdi-annotations"}}})
    here.kubelet.wait(GPU, allocatable=1)
    assert spec_file(here).exists()
    here.write({})
    wait_until(lambda: not spec_file(here).exists(), "no CDI file")


@pytest.mark.difference("cdi-not-written")
def test_a_driver_root_without_the_driver(node):
    here = node("l20")
    for file in (here.host / here.driver_root.lstrip("/")).rglob("libcuda.so*"):
        file.unlink()
    agent = cdi_agent(here)
    agent.wait_log("libcuda.so.570.158.01")
    assert here.kubelet.node() == {}


def test_a_file_that_somebody_removes_is_written_again(node):
    here = node("l20")
    agent = cdi_agent(here)
    here.kubelet.wait(GPU, allocatable=1)
    before = spec_file(here).read_text()
    spec_file(here).unlink()
    agent.wait_log("somebody else removed a file")
    assert spec_file(here).read_text() == before
    here.cdi.rename(here.cdi.with_name("moved"))
    wait_until(spec_file(here).exists, "the file in a folder made anew")


def with_hook(program: str) -> str:
    config = json.loads(sharing(2))
    config["flags"] = {"plugin": {"nvidiaCTKPath": program}}
    return json.dumps(config)


@pytest.mark.difference("config-trusted-folders")
def test_a_configuration_names_no_program_of_a_pods(node):
    """Whoever may write the ConfigMap and make a Pod must not become the host's root."""
    here = node("l20")
    agent = here.agent(
        "--device-list-strategy=cdi-cri",
        f"--driver-root={here.driver_root}",
        f"--driver-root-ctr-path={here.host}{here.driver_root}",
        config=with_hook("/usr/local/nvidia/toolkit/nvidia-cdi-hook"),
    )
    here.kubelet.wait(GPU, allocatable=2)
    before = spec_file(here).read_text()
    assert "/usr/local/nvidia/toolkit/nvidia-cdi-hook" in before
    here.write(with_hook("/var/lib/kubelet/pods/u/volumes/kubernetes.io~empty-dir/x/nvidia-cdi-hook"))
    agent.wait_log("flags.plugin.nvidiaCTKPath: /var/lib/kubelet/.* is in no folder from which a file may name one")
    assert spec_file(here).read_text() == before
    here.write(with_hook("/usr/bin/nvidia-ctk"))
    wait_until(lambda: "/usr/bin/nvidia-ctk" in spec_file(here).read_text(), "a good one is taken again")


@pytest.mark.difference("cdi-not-written")
def test_a_folder_that_is_not_there_is_named_with_the_charts_value(node):
    """As in a container without the folder, whose root file system is read-only."""
    here = node("cdi-sample")
    here.cdi.write_text("no folder")
    agent = cdi_agent(here)
    agent.wait_log("a CDI file cannot be written: .*mount the node's folder .*cdi.enabled=true")
    assert here.kubelet.registrations() == []


@pytest.mark.difference("devices-broken-gpu")
def test_a_gpu_without_a_minor_number_is_unhealthy_and_in_no_file(node):
    """A runtime would refuse the whole file because of a device that changes nothing."""
    here = node("a100-40gb-x4")
    lost, *others = here.uuids()
    here.sim("fault", "fail", "--function", "nvmlDeviceGetMinorNumber", "--error", "NOT_SUPPORTED", "--gpu", lost)
    agent = cdi_agent(here, "--machine-interval=50ms")
    here.kubelet.wait(GPU, capacity=4, allocatable=3)
    assert {one["name"] for one in json.loads(spec_file(here).read_text())["devices"]} == set(others)
    assert "does not tell its minor number" in agent.log
    here.sim("clear")
    here.kubelet.wait(GPU, capacity=4, allocatable=4)
    assert len(json.loads(spec_file(here).read_text())["devices"]) == 4


@pytest.mark.difference("devices-broken-gpu")
def test_mig_instances_without_capability_nodes_are_unhealthy(node):
    here = node("a100-40gb-mig")
    (here.host / "proc/driver/nvidia-caps/mig-minors").unlink()
    agent = cdi_agent(here, "--mig-strategy=mixed")
    here.kubelet.wait("nvidia.com/mig-1g.5gb", capacity=2, allocatable=0)
    agent.wait_log("capability nodes of GPU instance .*mig-minors")


def mounted(here) -> list:
    spec = json.loads(spec_file(here).read_text())
    return [mount["hostPath"] for mount in spec["containerEdits"]["mounts"]]


def test_files_follow_the_driver(node):
    """tests/data/reports/09-cdi-without-a-library."""
    here = node("t4")
    libraries = here.host / here.driver_root.lstrip("/") / "usr/lib/x86_64-linux-gnu"
    [cuda] = libraries.glob("libcuda.so.5*")
    version = cuda.name.removeprefix("libcuda.so.")
    dangling = libraries / f"libnvidia-nvvm.so.{version}"
    dangling.symlink_to("/nonexistent/x")
    agent = cdi_agent(here, "--machine-interval=1s")
    here.kubelet.wait(GPU, allocatable=1)
    assert not [path for path in mounted(here) if not (here.host / path.lstrip("/")).exists()]
    agent.wait_log(f"libnvidia-nvvm.so.{version} is a link that leads to no file")

    ptx = libraries / f"libnvidia-ptxjitcompiler.so.{version}"
    kept = {file: file.read_bytes() for file in (cuda, ptx)}
    ptx.unlink()
    agent.wait_log("libraries of the driver are gone")
    wait_until(lambda: not [path for path in mounted(here) if path.endswith(ptx.name)], "a file without it")
    here.kubelet.wait(GPU, allocatable=1)

    cuda.unlink()
    here.kubelet.wait(GPU, allocatable=0)
    agent.wait_log(rf"the driver's files are gone.*{cuda.name} not found under the driver root")
    assert not spec_file(here).exists()
    for file, content in kept.items():
        file.write_bytes(content)
    here.kubelet.wait(GPU, allocatable=1)
    assert {path.rsplit("/", 1)[1] for path in mounted(here)} >= {cuda.name, ptx.name}
