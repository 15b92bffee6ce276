"""containerd on a node of the lab: its configuration, and the specification that containers start
from if they get their GPU by the device plugin's CDI files and nothing of NVIDIA's."""

import json

from .registry import HOSTS_FOLDER

CONFIG = "/etc/containerd/config.toml"
BASE_SPEC = "/etc/containerd/gpu-machine.json"
PAUSE = "tranche-lab/pause:1"
WRAPPER = "/opt/tranche/bin/tranche-lab-runtime"
# Where the simulated machine is, on the node and in its containers (lab/runtime/driver.h).
MACHINE_FOLDER = "/run/tranche-sim"
TREE_FOLDER = "/run/tranche-lab/machine"
# Target of the links in /sys/bus/pci/devices: nothing can be added to the kernel's own
# /sys/devices.
PCI_FOLDER = f"{MACHINE_FOLDER}/devices"


def config(default_runtime: str, base_spec: bool) -> str:
    """`base_spec`: plain runc containers begin with BASE_SPEC."""
    lines = [
        "version = 3",
        'root = "/var/lib/containerd"',
        'state = "/run/containerd"',
        'disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.snapshotter.v1.erofs"]',
        "[grpc]",
        '  address = "/run/containerd/containerd.sock"',
        "[plugins.'io.containerd.cri.v1.images']",
        "  snapshotter = 'overlayfs'",
        "[plugins.'io.containerd.cri.v1.images'.pinned_images]",
        f"  sandbox = '{PAUSE}'",
        "[plugins.'io.containerd.cri.v1.images'.registry]",
        f"  config_path = '{HOSTS_FOLDER}'",
        "[plugins.'io.containerd.cri.v1.runtime']",
        "  enable_cdi = true",
        "  cdi_spec_dirs = ['/etc/cdi', '/var/run/cdi']",
        # A machine that grants no CAP_SYS_RESOURCE.
        "  restrict_oom_score_adj = true",
        "  disable_apparmor = true",
        # The network namespaces of Pods end with the node.
        "  netns_mounts_under_state_dir = true",
        "[plugins.'io.containerd.cri.v1.runtime'.cni]",
        "  bin_dirs = ['/usr/lib/cni']",
        "  conf_dir = '/etc/cni/net.d'",
        "[plugins.'io.containerd.cri.v1.runtime'.containerd]",
        f"  default_runtime_name = '{default_runtime}'",
        *_runtime("runc", "/usr/sbin/runc", BASE_SPEC if base_spec else ""),
        *_runtime("nvidia", WRAPPER, ""),
    ]
    return "\n".join(lines) + "\n"


def _runtime(name: str, binary: str, base_spec: str) -> list[str]:
    table = f"plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.{name}"
    return [
        f"[{table}]",
        "  runtime_type = 'io.containerd.runc.v2'",
        f"  base_runtime_spec = '{base_spec}'",
        f"[{table}.options]",
        f"  BinaryName = '{binary}'",
        "  SystemdCgroup = false",
    ]


def with_kernel(spec: str, pci: bool) -> str:
    """containerd's default specification, plus what a kernel with the driver shows in every
    container: here the machine's state, /proc/driver and /proc/devices, and, if this machine has
    such a folder, PCI devices."""
    made = json.loads(spec)
    made["process"]["env"] = [
        *made["process"].get("env", []),
        f"TRANCHE_SIM_STATE={MACHINE_FOLDER}/state",
    ]
    made["mounts"].append(_bind(MACHINE_FOLDER, MACHINE_FOLDER, "rw"))
    if pci:
        folder = "/sys/bus/pci/devices"
        made["mounts"].append(_bind(f"{TREE_FOLDER}{folder}", folder, "ro"))
    hook = {"path": WRAPPER, "args": ["tranche-lab-runtime", "hook", "kernel"]}
    made.setdefault("hooks", {}).setdefault("createContainer", []).append(hook)
    return json.dumps(made)


def _bind(source: str, destination: str, access: str) -> dict:
    options = [access, "nosuid", "nodev", "rbind", "rprivate"]
    return {"source": source, "destination": destination, "type": "bind", "options": options}
