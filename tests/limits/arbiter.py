"""Shared by the tests of `tranche arbiter`: a tenants' folder like the agent's, the arbiter as a
process, and a process of a container that registers (src/sharing/limit/wire.h)."""

import json
import os
import pathlib
import socket
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "e2e"))
from programs import LIBRARY, TRANCHE, TRANCHE_SIM, Process, clean_environment  # noqa: E402

HOOK = LIBRARY.parents[1] / "lib" / "tranche-limit-hook"

HELLO_MAGIC = 0x4C485254
HELLO, WELCOME, WAITING, CONTEXT = 1, 2, 3, 4
VERSION = 1
NO_SLOT = 1024
MiB = 1 << 20
# In the policy page: the first device's words.
MEMORY_LIMIT, OUTSIDE = 40 + 16, 40 + 32


def checksum(text: str) -> str:
    """FNV-1a, 64 bits."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return f"{value:016x}"


def limits(tenant: str, device: str, memory: int = 100 * MiB, **fields) -> str:
    """limits/v1."""
    body = {
        "id": tenant,
        "resource": "nvidia.com/gpu",
        "enforcement": "strict",
        "priority": "normal",
        "devices": [{"uuid": device, "weight": 1, "memoryBytes": memory}],
        **fields,
    }
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return json.dumps({"version": "limits/v1", "checksum": checksum(text), "limits": body})


def simulated_l20(folder: pathlib.Path) -> tuple[dict, str]:
    return simulated("l20", folder)


def simulated(name: str, folder: pathlib.Path) -> tuple[dict, str]:
    """The environment that names a machine with a state in `folder`, and the UUID of its first GPU."""
    machine = {"TRANCHE_SIM": ROOT / f"sim/machines/{name}.yaml", "TRANCHE_SIM_STATE": folder / "gpu"}
    show = subprocess.run(
        [TRANCHE_SIM, "show", "-o", "json"],
        env=clean_environment(**machine),
        check=True,
        capture_output=True,
        text=True,
    )
    return machine, json.loads(show.stdout)["gpus"][0]["uuid"]


class Tenants:
    """The folder, written as by the agent: the tenant's folder first, then its file atomically."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        folder.mkdir()

    def promise(self, tenant: str, device: str, **fields) -> None:
        (self.folder / tenant).mkdir(exist_ok=True)
        new = self.folder / f"{tenant}.new"
        new.write_text(limits(tenant, device, **fields))
        new.rename(self.folder / f"{tenant}.json")

    def withdraw(self, tenant: str) -> None:
        (self.folder / f"{tenant}.json").unlink()

    def socket(self, tenant: str) -> pathlib.Path:
        return self.folder / tenant / "arbiter.sock"


class Registered:
    """This process, registered for a tenant; gone some seconds after it is closed. `memory`: a
    descriptor to hand over, as the library does with the previous arbiter's usage memory."""

    def __init__(self, path: pathlib.Path, memory: int | None = None):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(30)
        self.socket.connect(str(path))
        hello = struct.pack("=IIHHIQ", HELLO_MAGIC, HELLO, VERSION, 0, NO_SLOT, 0)
        socket.send_fds(self.socket, [hello], [] if memory is None else [memory])
        message, fds, _, _ = socket.recv_fds(self.socket, 64, 2)
        self.magic, self.kind, self.answer, self.slot, self.generation = struct.unpack_from("=IIIIQ", message)
        self.policy_fd, self.usage_fd = fds

    def policy(self, offset: int) -> int:
        return int.from_bytes(os.pread(self.policy_fd, 8, offset), "little")

    def notice(self, kind: int, device: int = 0) -> None:
        self.socket.send(struct.pack("=IIII", HELLO_MAGIC, kind, device, 0))

    def close(self) -> None:
        self.socket.close()


def arbiter(folder: pathlib.Path, tenants: pathlib.Path, *flags, name: str = "arbiter", **env) -> Process:
    """Over the simulated NVML, when `env` names a machine."""
    command = [TRANCHE, "arbiter", "--tenants", tenants, "--state-dir", folder / "state", *flags]
    return Process(command, folder / name, clean_environment(LD_LIBRARY_PATH=LIBRARY.parent, **env))
