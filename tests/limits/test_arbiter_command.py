"""`tranche arbiter` as a process: start, refusals, the probe, its end, and the next one."""

import contextlib
import fcntl
import os
import pathlib
import resource
import signal
import subprocess
import sys

import pytest

from arbiter import MEMORY_LIMIT, MiB, Registered, Tenants, arbiter
from programs import TRANCHE, wait_until

# A process that registers at the given socket, prints the answer, and stays.
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


def check(folder: pathlib.Path, *more) -> subprocess.CompletedProcess:
    command = [TRANCHE, "arbiter", "--check", "--state-dir", folder / "state", *more]
    return subprocess.run(command, capture_output=True, text=True)


def test_help_names_every_flag():
    done = subprocess.run([TRANCHE, "arbiter", "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    for flag in ("--tenants", "--state-dir", "--check", "--driver-root-ctr-path", "--host-root", "--log-level"):
        assert flag in done.stdout
    assert "arbiter" in subprocess.run([TRANCHE, "help"], capture_output=True, text=True).stdout


def test_one_containers_processes_leave_room_for_others(tmp_path, tenants):
    """They are more than a container runtime's default limit of descriptors."""
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


def test_nothing_that_a_tenant_does_to_its_usage_memory_costs_the_node(tmp_path, tenants):
    """It can be made neither larger nor smaller, and is not in the arbiter's own folder."""
    tenants.promise("a", GPU)
    process = arbiter(tmp_path, tenants.folder)
    wait_until(lambda: tenants.socket("a").exists(), "its socket")
    usage = Registered(tenants.socket("a")).usage_fd
    size = os.fstat(usage).st_size
    for change in (
        lambda: os.posix_fallocate(usage, size, 32 * MiB),
        lambda: os.ftruncate(usage, size + 1),
        lambda: os.ftruncate(usage, 0),
        lambda: os.pwrite(usage, b"x", size),
    ):
        with pytest.raises(PermissionError):
            change()
    assert sum(file.stat().st_size for file in (tmp_path / "state").iterdir()) < 1 * MiB
    assert Registered(tenants.socket("a")).answer == 0
    assert process.stop() == 0


def spoil_header(fd):
    os.pwrite(fd, b"\xff" * 12, 0)


def take_lease(fd):
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)


def forbid(fd):
    os.fchmod(fd, 0)


@pytest.mark.parametrize("spoil", [spoil_header, take_lease, forbid], ids=lambda spoil: spoil.__name__)
def test_the_next_arbiter_serves_a_tenant_whatever_it_did_to_its_memory(tmp_path, tenants, spoil):
    """A lease on a file by that name once delayed the next arbiter for 45 s, with all its
    tenants."""
    for name in ("hostile", "other"):
        tenants.promise(name, GPU)
    first = arbiter(tmp_path, tenants.folder)
    first.wait_log("serving 2 tenants")
    hostile = Registered(tenants.socket("hostile"))
    # A lease needs the file open only once; a duplicate may be left to be handed over.
    if spoil is take_lease:
        with contextlib.suppress(OSError):  # where other openings of the file forbid it nothing is held up either
            spoil(hostile.usage_fd)
    else:
        spoil(hostile.usage_fd)
    first.kill()
    second = arbiter(tmp_path, tenants.folder, name="second")
    second.wait_log("serving 2 tenants")
    assert Registered(tenants.socket("other")).answer == 0
    again = Registered(tenants.socket("hostile"), memory=hostile.usage_fd)
    assert (again.answer, again.slot, again.generation) == (0, hostile.slot, hostile.generation)
    assert second.stop() == 0


def test_memory_that_nobody_hands_over_is_counted_anew(tmp_path, tenants):
    tenants.promise("a", GPU)
    first = arbiter(tmp_path, tenants.folder)
    first.wait_log("serving 1 tenants")
    child = subprocess.Popen(REGISTER + [tenants.socket("a")], stdout=subprocess.PIPE)
    try:
        assert child.stdout.readline() == b"0\n"
        before = Registered(tenants.socket("a"))
        first.kill()
        second = arbiter(tmp_path, tenants.folder, name="second")
        second.wait_log("serving 1 tenants")
        again = Registered(tenants.socket("a"))
        second.wait_log("tenant a: none of its processes handed over what the arbiter before knew of them")
        assert again.slot == before.slot
        assert again.generation != before.generation
        assert second.stop() == 0
    finally:
        child.kill()
        child.communicate()


def test_an_unknown_flag_is_a_usage_error():
    done = subprocess.run([TRANCHE, "arbiter", "--tenant", "/x"], capture_output=True, text=True)
    assert done.returncode == 2
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
    assert (tmp_path / "state" / "a.slots").exists()


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
    again = Registered(tenants.socket("a"), memory=registered.usage_fd)
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


def status_of(pid: int) -> dict[str, str]:
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, value in (line.split(":", 1) for line in lines)}


def test_it_gives_up_what_it_has_no_use_for(tmp_path, tenants):
    """Signals to others, new programs, mounts: src/programs/arbiter/run/syscall_filter.h."""
    tenants.promise("a", GPU)
    process = arbiter(tmp_path, tenants.folder)
    wait_until(lambda: tenants.socket("a").exists(), "its socket")
    status = status_of(process.pid)
    assert (status["Seccomp"], status["NoNewPrivs"]) == ("2", "1")
    assert Registered(tenants.socket("a")).answer == 0
    assert process.stop() == 0


def test_a_folder_that_was_removed_under_it_is_not_well(tmp_path, tenants):
    """As a container sees a mount whose folder on the node was removed and made again."""
    process = arbiter(tmp_path, tenants.folder)
    wait_until(lambda: check(tmp_path).returncode == 0, "it lives")
    gone = tmp_path / "gone"
    gone.mkdir()
    fd = os.open(gone, os.O_PATH)
    through = f"/proc/{os.getpid()}/fd/{fd}"
    assert check(tmp_path, "--tenants", through).returncode == 0
    gone.rmdir()
    done = check(tmp_path, "--tenants", through)
    os.close(fd)
    assert done.returncode == 1 and "was removed under the arbiter" in done.stderr
    assert process.stop() == 0
