"""`tranche arbiter` as a process: start, refusals, the probe, its end, and the next one."""

import os
import pathlib
import resource
import signal
import subprocess
import sys

import pytest

from arbiter import MEMORY_LIMIT, MiB, Registered, Tenants, arbiter
from programs import TRANCHE, wait_until

# A process that registers at the socket it is given, prints the answer, and stays.
REGISTER = [
    sys.executable,
    "-c",
    f"import sys; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})\n"
    "import arbiter, signal\n"
    "member = arbiter.Registered(sys.argv[1])\n"
    "print(member.answer, flush=True)\n"
    "signal.pause()",
]
GPU = "GPU-00112233-4455-6677-8899-aabbccddeeff"


@pytest.fixture
def tenants(tmp_path):
    return Tenants(tmp_path / "tenants")


def check(folder: pathlib.Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [TRANCHE, "arbiter", "--check", "--state-dir", folder / "state"], capture_output=True, text=True
    )


def test_help_names_every_flag():
    done = subprocess.run([TRANCHE, "arbiter", "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    for flag in ("--tenants", "--state-dir", "--check", "--driver-root-ctr-path", "--host-root", "--log-level"):
        assert flag in done.stdout
    assert "arbiter" in subprocess.run([TRANCHE, "help"], capture_output=True, text=True).stdout


def test_one_containers_processes_leave_room_for_others(tmp_path, tenants):
    """They are more than the descriptors that a container runtime gives a process to begin with."""
    for name in ("many", "other"):
        tenants.promise(name, GPU)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
    try:
        process = arbiter(tmp_path, tenants.folder)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    wait_until(lambda: tenants.socket("other").exists() and tenants.socket("many").exists(), "their sockets")
    children = [subprocess.Popen(REGISTER + [tenants.socket("many")], stdout=subprocess.PIPE) for _ in range(60)]
    try:
        assert [child.stdout.readline() for child in children] == [b"0\n"] * len(children)
        assert Registered(tenants.socket("other")).answer == 0
    finally:
        for child in children:
            child.kill()
            child.communicate()
    assert process.stop() == 0


def test_what_a_tenant_puts_behind_its_usage_file_is_cut_off(tmp_path, tenants):
    """The folder is in memory that the whole node shares."""
    tenants.promise("a", GPU)
    process = arbiter(tmp_path, tenants.folder)
    wait_until(lambda: tenants.socket("a").exists(), "its socket")
    usage = Registered(tenants.socket("a")).usage_fd
    size = os.fstat(usage).st_size
    os.posix_fallocate(usage, size, 32 * MiB)
    process.wait_log("tenant a: one of its processes made its usage file 32 MiB larger than it is")
    wait_until(lambda: os.fstat(usage).st_size == size, "its size")
    assert os.fstat(usage).st_blocks * 512 < 16 * MiB
    assert Registered(tenants.socket("a")).answer == 0
    assert process.stop() == 0


def test_an_unknown_flag_is_a_usage_error():
    done = subprocess.run([TRANCHE, "arbiter", "--tenant", "/x"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "did you mean --tenants?" in done.stderr


def test_it_serves_until_it_is_told_to_end(tmp_path, tenants):
    tenants.promise("a", GPU)
    assert check(tmp_path).returncode == 1
    process = arbiter(tmp_path, tenants.folder)
    process.wait_log("serving 1 tenants")
    registered = Registered(tenants.socket("a"))
    assert registered.answer == 0
    tenants.promise("b", GPU)
    wait_until(lambda: tenants.socket("b").exists(), "a tenant that came later")
    alive = wait_until(lambda: (done := check(tmp_path)).returncode == 0 and done, "its sign of life")
    assert alive.stdout == "alive\n"
    assert process.stop() == 0
    dead = check(tmp_path)
    assert dead.returncode == 1
    assert f"no arbiter runs with the state folder {tmp_path}/state" in dead.stderr
    # What its processes hold outlives it.
    assert (tmp_path / "state" / "a.usage").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT])
def test_other_signals_end_it_too(tmp_path, tenants, number):
    process = arbiter(tmp_path, tenants.folder)
    process.wait_log("serving 0 tenants")
    process.signal(signal.SIGHUP)  # means nothing to it
    process.signal(number)
    assert process.wait() == 0


def test_one_at_a_time(tmp_path, tenants):
    tenants.promise("a", GPU)
    first = arbiter(tmp_path, tenants.folder)
    first.wait_log("serving 1 tenants")
    registered = Registered(tenants.socket("a"))
    second = arbiter(tmp_path, tenants.folder, name="second")
    second.wait_log("another arbiter serves with the state folder .*: waiting for its end")
    third = arbiter(tmp_path, tenants.folder, name="third")
    third.wait_log("waiting for its end")
    assert third.stop() == 0
    first.kill()
    second.wait_log("serving 1 tenants")
    registered.socket.settimeout(30)
    assert registered.socket.recv(1) == b"", "the first one's connections are at their end"
    again = Registered(tenants.socket("a"))
    assert (again.slot, again.generation) == (registered.slot, registered.generation)
    assert second.stop() == 0


def test_without_its_folder_it_says_what_to_do(tmp_path):
    process = arbiter(tmp_path, tmp_path / "nowhere")
    assert process.wait() == 1
    assert f"the tenants' folder {tmp_path}/nowhere is not there; the agent makes it" in process.log
    (tmp_path / "file").write_text("")
    process = arbiter(tmp_path, tmp_path / "file", name="file.arbiter")
    assert process.wait() == 1
    assert "file is no folder" in process.log


@pytest.mark.skipif(os.geteuid() != 0, reason="to become another user takes root")
def test_who_may_not_write_there_is_told_to_be_root(tmp_path, tenants):
    for folder in [tmp_path, *tmp_path.parents]:
        if os.stat(folder).st_mode & 0o005 != 0o005:
            folder.chmod(folder.stat().st_mode | 0o005)
    command = [TRANCHE, "arbiter", "--tenants", tenants.folder, "--state-dir", tmp_path / "state"]
    done = subprocess.run(command, capture_output=True, text=True, user=65534, group=65534, extra_groups=[])
    assert done.returncode == 1
    assert "may not be written; run the arbiter as root" in done.stderr
    tenants.folder.chmod(0o777)
    done = subprocess.run(command, capture_output=True, text=True, user=65534, group=65534, extra_groups=[])
    assert done.returncode == 1
    assert "run the arbiter as root, or name a folder with --state-dir" in done.stderr


def test_a_change_reaches_a_process_that_holds_memory(tmp_path, tenants):
    tenants.promise("a", GPU, memory=100 * MiB)
    process = arbiter(tmp_path, tenants.folder)
    process.wait_log("serving 1 tenants")
    registered = Registered(tenants.socket("a"))
    assert registered.policy(MEMORY_LIMIT) == 100 * MiB
    tenants.promise("a", GPU, memory=300 * MiB)
    wait_until(lambda: registered.policy(MEMORY_LIMIT) == 300 * MiB, "the changed limit on the page")
    assert process.stop() == 0
