"""tranche-sim and the stand-in of nvidia-smi, as people use them."""

import os
import pathlib
import stat
import sys

import pytest


def test_help_of_every_command(machine):
    out = machine("l20").sim("--help-all")
    for command in ("show", "fault", "xid", "clear", "reset", "mig", "occupy", "root"):
        assert command in out


def test_no_machine_is_said_with_the_remedy(machine):
    one = machine("l20")
    one.env.pop("TRANCHE_SIM")
    one.env.pop("TRANCHE_SIM_STATE")
    assert "set TRANCHE_SIM" in one.sim("show", ok=False)


def test_the_five_processes_of_the_manual(machine):
    one = machine("t4")
    for i in range(5):
        one.occupy("--memory", "315Mi", "--util", "100", "--name", f"python{i}")
    query = ("--query-gpu=memory.used,memory.total", "--format=csv,noheader")
    assert one.smi(*query) == "1577 MiB, 15360 MiB\n"
    apps = one.smi("--query-compute-apps=process_name,used_memory", "--format=csv,noheader,nounits")
    assert sorted(apps.splitlines()) == [f"python{i}, 315" for i in range(5)]
    assert "1577MiB / 15360MiB" in one.smi()


def test_memory_is_real(machine):
    one = machine("t4")
    assert "out of memory" in one.sim("occupy", "--memory", "16Gi", ok=False)
    holder = one.occupy("--memory", "14Gi")
    assert "out of memory" in one.sim("occupy", "--memory", "1Gi", ok=False)
    holder.kill()
    holder.wait()
    one.occupy("--memory", "1Gi")


def test_occupy_a_mig_device(machine):
    one = machine("a100-40gb-mig")
    holder = one.occupy("--gpu", "0:3", "--memory", "1Gi")
    process = one.show()["gpus"][0]["processes"][0]
    assert (process["pid"], process["gpuInstance"]) == (holder.pid, 8)
    assert "out of memory" in one.sim("occupy", "--gpu", "0:3", "--memory", "5Gi", ok=False)
    assert "in use" in one.sim("mig", "destroy", "--gpu", "0", "--gpu-instance", "8", ok=False)


def test_query_fields(machine):
    out = machine("l20").smi(
        "--query-gpu=name,index,memory.total,compute_cap,driver_version,mig.mode.current,pci.bus_id,compute_mode",
        "--format=csv",
    )
    assert out.splitlines() == [
        "name, index, memory.total [MiB], compute_cap, driver_version, mig.mode.current, pci.bus_id, compute_mode",
        "NVIDIA L20, 0, 46068 MiB, 8.9, 570.158.01, [N/A], 00000000:00:08.0, Default",
    ]
    assert "not a valid field" in machine("l20").smi("--query-gpu=nothing", "--format=csv", ok=False)


def test_list_shows_mig_devices(machine):
    one = machine("a100-40gb-mig")
    lines = one.smi("-L").splitlines()
    assert lines[0].startswith("GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-")
    assert [line.split()[1] for line in lines[1:]] == ["3g.20gb", "2g.10gb", "1g.5gb", "1g.5gb"]


@pytest.mark.parametrize(
    "name, cells",
    [
        ("a100-80gb-x8", ["X", "NV12", "NV12"]),
        ("a100-40gb-x4", ["X", "NV4", "NV4"]),
        ("h200", ["X", "NV18", "NV18"]),
        ("gpus-16", ["X", "PIX", "PXB"]),
        ("a100-passthrough", ["X", "SYS", "N/A"]),
    ],
)
def test_topology(machine, name, cells):
    row = machine(name).smi("topo", "-m").splitlines()[1].split("\t")
    assert [cell.strip() for cell in row[1:4]] == cells


def test_mig_commands(machine):
    one = machine("a100-40gb")
    assert "No MIG-enabled devices" in one.smi("mig", "-lgip", ok=False)
    assert "Enabled MIG Mode" in one.smi("-i", "0", "-mig", "1")
    one.sim("mig", "create", "--profile", "3g.20gb")
    one.sim("mig", "create", "--profile", "2g.10gb", "--compute", "1", "1")
    assert one.smi("mig", "-lci").count("MIG 1c.2g.10gb") == 2
    assert "Profile ID 19 Placements: {0,1,2,3,4,5,6}:1" in one.smi("mig", "-lgipp")
    assert "no room" in one.sim("mig", "create", "--profile", "7g.40gb", ok=False)
    assert "it has 1g.5gb" in one.sim("mig", "create", "--profile", "1g.10gbx", ok=False)
    one.sim("mig", "destroy", "--all")
    one.sim("mig", "disable")
    assert "has no MIG" in machine("t4").sim("mig", "enable", ok=False)


def test_compute_mode_is_set_as_the_mps_daemon_does(machine):
    one = machine("t4")
    uuid = one.show()["gpus"][0]["uuid"]
    one.smi("-i", uuid, "-c", "EXCLUSIVE_PROCESS")
    assert one.smi("--query-gpu=compute_mode", "--format=csv,noheader") == "Exclusive_Process\n"
    one.smi("-i", uuid, "-c", "DEFAULT")
    assert one.smi("--query-gpu=compute_mode", "--format=csv,noheader") == "Default\n"


def test_faults_come_and_go(machine):
    one = machine("a100-80gb-x8")
    one.sim("fault", "lost", "--gpu", "2")
    assert one.show()["gpus"][2]["state"] == "lost"
    assert one.show()["gpus"][2]["lastXid"] == 79
    assert "GPU is lost" in one.smi("-L", ok=False)
    one.sim("fault", "back", "--gpu", "2")
    one.sim("fault", "gone", "--gpu", "7")
    assert len(one.smi("-L").splitlines()) == 7
    one.sim("fault", "fail", "--function", "nvmlDeviceGetMemoryInfo_v2", "--gpu", "0", "--error", "UNKNOWN")
    used = one.smi("--query-gpu=memory.used", "--format=csv,noheader").splitlines()
    assert used[0] == "[N/A]" and used[1] == "0 MiB"
    one.sim("fault", "no-driver")
    assert "couldn't communicate" in one.smi(ok=False)
    one.sim("fault", "driver-back")
    assert len(one.show()["faults"]) == 1
    one.sim("clear")
    assert one.show()["faults"] == []
    assert len(one.smi("-L").splitlines()) == 8
    assert "no GPU '9'" in one.sim("fault", "lost", "--gpu", "9", ok=False)
    assert "no NVML error" in one.sim("fault", "fail", "--error", "OOPS", ok=False)
    one.sim("fault", "fail", "--function", "cuMemAlloc_v2", "--error", "OUT_OF_MEMORY")
    fault = one.show()["faults"][0]
    assert (fault["function"], fault["error"]) == ("cuMemAlloc", "CUDA_ERROR_OUT_OF_MEMORY")
    refused = one.sim("fault", "fail", "--function", "cuMemAlloc", "--error", "GPU_IS_LOST", ok=False)
    assert "no CUDA error" in refused


def test_time_slices_are_set_as_the_dra_driver_does(machine):
    one = machine("a100-40gb-x4")
    uuid = one.show()["gpus"][2]["uuid"]
    one.smi("compute-policy", "-i", uuid, "--set-timeslice", "3")
    names = [line.split()[-1] for line in one.smi("compute-policy", "-l").splitlines()]
    assert names == ["Default", "Default", "Long", "Default"]
    assert "Invalid timeslice" in one.smi("compute-policy", "--set-timeslice=4", ok=False)


def test_reset_brings_a_pending_mig_mode(machine):
    one = machine("a100-passthrough")
    assert "cannot be reset" in one.sim("mig", "enable", "--gpu", "0", ok=False)
    assert one.show()["gpus"][0]["mig"] == {"capable": True, "current": False, "pending": True, "devices": []}
    assert "--reboot" in one.sim("reset", ok=False)
    one.sim("reset", "--reboot")
    assert one.show()["gpus"][0]["mig"]["current"] is True


def read(root: pathlib.Path, path: str) -> str:
    return (root / path).read_text()


def test_root_writes_what_production_reads(machine):
    one = machine("a100-40gb-mig")
    root = one.folder / "root"
    said = one.sim("root", str(root))
    pci = "sys/bus/pci/devices/0000:07:00.0"
    assert read(root, f"{pci}/vendor") == "0x10de\n"
    assert read(root, f"{pci}/class") == "0x030200\n"
    assert read(root, f"{pci}/numa_node") == "0\n"
    assert (root / pci / "config").read_bytes()[:4] == bytes.fromhex("de10b020")
    # Its address is a link, as the kernel has it, to its place below the PCIe root.
    assert os.readlink(root / pci) == "../../../devices/pci0000:06/0000:06:01.0/0000:07:00.0"
    minors = dict(line.split() for line in read(root, "proc/driver/nvidia-caps/mig-minors").splitlines())
    assert minors["config"] == "1"
    assert minors["gpu0/gi0/access"] == "3"
    assert minors["gpu0/gi1/ci0/access"] == "13"
    assert minors["gpu1/gi0/access"] == "138"
    node = root / f"dev/nvidia-caps/nvidia-cap{minors['gpu0/gi7/ci0/access']}"
    assert node.exists()
    access = read(root, "proc/driver/nvidia/capabilities/gpu0/mig/gi7/ci0/access")
    assert f"DeviceFileMinor: {minors['gpu0/gi7/ci0/access']}" in access
    info = os.stat(root / "dev/nvidiactl")
    if stat.S_ISCHR(info.st_mode):
        assert said.startswith(f"{root}: device nodes")
        assert (os.major(info.st_rdev), os.minor(info.st_rdev)) == (195, 255)
    else:
        assert "plain files" in said
    libraries = next(root.glob("usr/lib/*-linux-gnu"))
    assert os.readlink(libraries / "libnvidia-ml.so.1") == "libnvidia-ml.so.570.158.01"
    assert (libraries / "libcuda.so.570.158.01").exists()
    assert os.access(root / "usr/bin/nvidia-smi", os.X_OK)


def test_gpus_of_a_host_bridge_have_one_pcie_root(machine):
    one = machine("a100-80gb-x8")
    elsewhere = one.folder / "pci"
    one.sim("root", str(one.folder / "root"), "--plain-nodes", "--pci-folder", str(elsewhere))
    links = {link.name: os.readlink(link) for link in (one.folder / "root/sys/bus/pci/devices").iterdir()}
    assert len(links) == 8
    assert links["0000:0f:00.0"] == f"{elsewhere}/pci0000:06/0000:06:01.0/0000:0f:00.0"
    roots = [links[address].removeprefix(f"{elsewhere}/").split("/")[0] for address in sorted(links)]
    assert roots == [root for root in ("pci0000:06", "pci0000:46", "pci0000:86", "pci0000:b6") for _ in range(2)]
    # Written again, it is the same.
    one.sim("root", str(one.folder / "root"), "--plain-nodes", "--pci-folder", str(elsewhere))
    assert read(elsewhere, "pci0000:46/0000:46:01.0/0000:4e:00.0/numa_node") == "0\n"


def test_root_with_a_driver_root_of_its_own(machine):
    one = machine("cdi-sample")
    root = one.folder / "root"
    one.sim("root", str(root), "--driver-root", "/run/nvidia/driver", "--plain-nodes")
    driver = root / "run/nvidia/driver"
    assert (driver / "dev/nvidia7").is_file()
    assert (root / "dev/nvidia0").is_file()
    assert list(driver.glob("usr/lib/*/libnvidia-ptxjitcompiler.so.550.163.01"))
    # The driver root works as one: its nvidia-smi finds its own library.
    env = {"LD_LIBRARY_PATH": ""}
    smi = str(driver / "usr/bin/nvidia-smi")
    assert "GPU-12345678-1234-1234-1234-123456780007" in one.run(smi, "-L", env=env)


def test_a_program_finds_the_cuda_driver_in_the_driver_root(machine):
    """By the name that every program uses, without another library of the build."""
    one = machine("a100-40gb-mig")
    one.sim("root", str(one.folder / "root"), "--plain-nodes")
    [libraries] = (one.folder / "root").glob("usr/lib/*-linux-gnu")
    assert os.readlink(libraries / "libcuda.so") == "libcuda.so.1"
    program = """if True:
        import ctypes
        cuda = ctypes.CDLL("libcuda.so.1")
        count, bytes_, version = ctypes.c_int(), ctypes.c_size_t(), ctypes.c_int()
        assert cuda.cuInit(0) == 0
        assert cuda.cuDeviceGetCount(ctypes.byref(count)) == 0
        assert cuda.cuDeviceTotalMem_v2(ctypes.byref(bytes_), 0) == 0
        assert cuda.cuDriverGetVersion(ctypes.byref(version)) == 0
        [loaded] = {line.split()[-1] for line in open("/proc/self/maps") if "libcuda" in line}
        print(count.value, bytes_.value >> 20, version.value, loaded)
    """
    env = {"LD_LIBRARY_PATH": str(libraries)}
    said = one.run(sys.executable, "-c", program, env=env).split()
    # CUDA enumerates only one MIG device of a GPU in MIG mode: the first, 3g.20gb.
    assert said == ["1", "20096", "12080", str(libraries / "libcuda.so.570.158.01")]


def test_root_of_a_vgpu_has_the_capability(machine):
    one = machine("t4-vgpu")
    root = one.folder / "root"
    one.sim("root", str(root))
    config = (root / "sys/bus/pci/devices/0000:02:02.0/config").read_bytes()
    at = config[0x34]
    assert config[at] == 0x09
    assert config[at + 3 : at + 5] == b"VF"
    assert config[at + 5] == 0
    assert config[at + 7 : at + 17].rstrip(b"\0") == b"570.158.02"
    assert config[at + 17 : at + 27].rstrip(b"\0") == b"r570_00"


def test_a_wrong_machine_file_says_where(machine, tmp_path):
    one = machine("l20")
    bad = tmp_path / "bad.yaml"
    bad.write_text("machine: bad\ngpus:\n  - {model: none, numer: 1}\n")
    out = one.sim("--machine", str(bad), "show", ok=False)
    assert "bad.yaml:3: gpus[0].numer: unknown field" in out
