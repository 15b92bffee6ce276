"""A container that was promised parts of a simulated GPU, with a real arbiter, and programs in
it."""

import json
import pathlib
import shutil
import subprocess

import pytest

ours = pytest.importorskip("arbiter")
from programs import TRANCHE_SIM, clean_environment, wait_until  # noqa: E402

BUILD = TRANCHE_SIM.parent.parent
LIMITER = BUILD / "lib" / "libtranche-limit.so"
MiB = ours.MiB

# The container's view of /run: its own tenant, nothing else.
CONTAINER = """
mount -t tmpfs tmpfs /run && mkdir -p /run/tranche/mine && mount --bind "$TENANT" /run/tranche/mine || exit 99
unset TENANT
eval "$PREPARE"
LD_PRELOAD=$PRELOAD exec "$@"
"""


# The library at a grant's path, from the same place as the tenant.
GRANTED = """
mount -t tmpfs tmpfs /usr/local && mkdir /usr/local/tranche && : > $LIBRARY || exit 99
mount --bind "$TENANTS/../lib/hash/libtranche-limit.so" $LIBRARY || exit 99
PRELOAD=$LIBRARY
"""


class Container:
    def __init__(self, machine, tenants, tenant, state):
        self.machine = machine
        self.tenants = tenants
        self.state = state  # the arbiter's status.json
        self.env = clean_environment(LD_LIBRARY_PATH=BUILD / "sim", PRELOAD=LIMITER, **machine)
        self.env["TENANT"] = str(tenants.folder / tenant)
        self.env["PREPARE"] = ""  # what is done in it before a program begins

    def grant(self, then: str = "") -> None:
        """Has the library mounted as by a grant; `then`: what the container's root does there."""
        folder = self.tenants.folder.parent / "lib" / "hash"
        folder.mkdir(parents=True)
        shutil.copy(LIMITER, folder)
        self.env.update(TENANTS=str(self.tenants.folder), LIBRARY="/usr/local/tranche/libtranche-limit.so")
        self.env["PREPARE"] = GRANTED + then

    def start(self, command: list, *unshare: str) -> subprocess.Popen:
        """`unshare`: further namespaces, as unshare(1) names them."""
        wrapped = ["unshare", "--mount", *unshare, "sh", "-c", CONTAINER, "sh", *map(str, command)]
        pipe = subprocess.PIPE
        return subprocess.Popen(wrapped, env=self.env, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    def status(self) -> dict:
        return json.loads(self.state.read_text())["status"]

    def run(self, *command) -> str:
        return finish(self.start(list(command)))


def finish(program: subprocess.Popen) -> str:
    out, err = program.communicate(timeout=120)
    assert program.returncode == 0, f"{program.returncode}\n{out}{err}"
    return out


@pytest.fixture
def serve(tmp_path):
    """Makes a Container with the first of a function's tenants for a GPU, with an arbiter."""
    arbiters = []

    def start(promise, machine_name="l20") -> Container:
        machine, uuid = ours.simulated(machine_name, tmp_path)
        tenants = ours.Tenants(tmp_path / "tenants")
        names = promise(tenants, uuid)
        arbiters.append(ours.arbiter(tmp_path, tenants.folder, **machine))

        def answers():
            assert arbiters[0].running(), arbiters[0].log
            return all(tenants.socket(name).exists() for name in names)

        wait_until(answers, "the arbiter serves every tenant")
        return Container(machine, tenants, names[0], tmp_path / "state" / "status.json")

    yield start
    for arbiter in arbiters:
        assert arbiter.stop() == 0, arbiter.log


SOURCES = pathlib.Path(__file__).resolve().parent / "programs"


def build(folder: pathlib.Path, name: str, *flags: str) -> pathlib.Path:
    """The program `name` of programs/, compiled as by its users: linked with the driver's
    libraries."""
    made = folder / pathlib.Path(name).stem
    libraries = ["-L", str(BUILD / "sim"), "-Wl,--no-as-needed", "-lcuda", "-lnvidia-ml"]
    command = ["g++", "-std=c++17", "-O1", "-g", "-pthread", str(SOURCES / name), "-o", str(made), *flags]
    done = subprocess.run(command + libraries, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return made
