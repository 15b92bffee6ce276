"""Where the programs of a lab are: the build folder, and the cache of the Kubernetes programs."""

import os
import pathlib
import shutil
import subprocess

from .errors import LabError

ROOT = pathlib.Path(__file__).resolve().parents[2]
MACHINES = ROOT / "sim" / "machines"
BUILDER = ROOT / "lab" / "build" / "build"
# From Debian (tools/setup.sh lab), each with a program that shows that it is installed.
_NEEDED = {
    "runc": "runc",
    "containernetworking-plugins": "/usr/lib/cni/bridge",
    "iproute2": "ip",
    "openssl": "openssl",
    "busybox-static": "/bin/busybox",
}


_BUILT = ("bin/tranche", "bin/tranche-sim", "bin/tranche-load", "bin/tranche-lab-runtime")
# Programs that map the simulated machine's state, and the file with its layout. A program built
# before a change of it refuses the state of the others, and every container ends at its start.
_STATE = ROOT / "sim" / "state" / "state.h"
_USE_STATE = (
    *("bin/tranche-sim", "bin/tranche-lab-runtime"),
    *("sim/nvidia-smi", "sim/libnvidia-ml.so.1", "sim/libcuda.so.1"),
)


def build_folder() -> pathlib.Path:
    """TRANCHE_BUILD, else build/ of the checkout."""
    build = pathlib.Path(os.environ.get("TRANCHE_BUILD", ROOT / "build")).resolve()
    for program in dict.fromkeys((*_BUILT, *_USE_STATE)):
        if not (build / program).exists():
            raise LabError(
                f"{build / program} is not there",
                "build it: run `make`, or name another build folder in TRANCHE_BUILD",
            )
    made = _STATE.stat().st_mtime
    stale = [program for program in _USE_STATE if (build / program).stat().st_mtime < made]
    if stale:
        raise LabError(
            f"built before the simulated machine's state was changed: {', '.join(stale)} (in {build})",
            "build them anew: run `make`; containers would end at their start",
        )
    return build


def programs_folder() -> pathlib.Path:
    """The Kubernetes programs, which must have been built: in TRANCHE_LAB_PROGRAMS, else where
    lab/build/build puts them."""
    named = os.environ.get("TRANCHE_LAB_PROGRAMS")
    folder = pathlib.Path(named).absolute() if named else _built_programs()
    names = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet")
    names += ("kubectl", "containerd", "containerd-shim-runc-v2", "ctr", "kwok", "helm")
    missing = [name for name in names if not (folder / name).exists()]
    if missing and named:
        raise LabError(
            f"TRANCHE_LAB_PROGRAMS has no {', '.join(missing)} ({folder})",
            "copy those of lab/build/build --where into it; links lead nowhere on a node (docs/lab.md)",
        )
    if missing:
        raise LabError(
            f"not built yet: {', '.join(missing)} (in {folder})",
            "run lab/build/build, which takes some minutes the first time",
        )
    return folder


def _built_programs() -> pathlib.Path:
    done = subprocess.run([BUILDER, "--where"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"{BUILDER}: {done.stderr.strip()}")
    return pathlib.Path(done.stdout.strip())


def check_machine() -> None:
    """What a lab needs of the machine it runs on."""
    if os.geteuid() != 0:
        raise LabError("a lab needs root, for namespaces and mounts", "run it with sudo, or as root")
    missing = [package for package, program in _NEEDED.items() if shutil.which(program) is None]
    if missing:
        raise LabError(
            f"missing on this machine: {', '.join(missing)}", "run tools/setup.sh lab, which installs them"
        )


def machine_file(name: str) -> pathlib.Path:
    """A machine of sim/machines by name, or a machine file by path."""
    file = pathlib.Path(name) if name.endswith(".yaml") else MACHINES / f"{name}.yaml"
    if not file.is_file():
        known = ", ".join(sorted(one.stem for one in MACHINES.glob("*.yaml")))
        raise LabError(
            f"there is no simulated machine {name!r} ({file})",
            f"give the path of a machine file (sim/README.md), or one of: {known}",
        )
    return file.resolve()
