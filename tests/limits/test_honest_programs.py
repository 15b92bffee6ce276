"""Programs that do nothing wrong, as others write them: linked with the driver or looking it up,
sanitized, forking, closing what they did not open, cancelling their threads. Under the limiter each
runs as without it."""

import os
import re

import pytest

ours = pytest.importorskip("arbiter")
from container import MiB, build, finish, serve, wait_until  # noqa: E402, F401

SOURCE = ours.ROOT / "src"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes a mount namespace: needs root")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Builds a program of programs/, once."""
    made = {}

    def get(name: str, *flags: str):
        if (name, flags) not in made:
            made[name, flags] = build(tmp_path_factory.mktemp("program"), name, *flags)
        return made[name, flags]

    return get


@pytest.fixture
def container(serve):
    def promise(tenants, uuid):
        tenants.promise("mine", uuid, memory=1024 * MiB)
        return ["mine"]

    return serve(promise)


def test_nvml_that_a_program_is_linked_with_answers(container, program):
    assert container.run(program("nvml_linked.cpp")) == "1024\n"


def statuses(text: str) -> dict:
    return dict(re.findall(r"^(\w+) (\S+)$", text, re.M))


def test_a_call_before_initialisation_is_answered_as_by_the_driver_alone(container, program):
    calls = program("before_init.cpp", "-I", str(SOURCE / "container"))
    seen = statuses(container.run(calls))
    container.env["PRELOAD"] = ""
    alone = statuses(container.run(calls))
    assert len(seen) > 200 and set(seen) == set(alone)
    for symbol, status in seen.items():
        absent = "13" if symbol.startswith("nvml") else "3"
        assert status == (alone[symbol] if alone[symbol] != "-" else absent), symbol


SANITIZERS = {
    "address": ["-fsanitize=address", "-static-libasan"],
    "thread": ["-fsanitize=thread"],
    "thread_static": ["-fsanitize=thread", "-static-libtsan"],
    "undefined": ["-fsanitize=undefined"],
}


@pytest.mark.parametrize("sanitizer", SANITIZERS)
@pytest.mark.parametrize("name", ["plain.cpp", "worker.cpp"])
def test_a_sanitized_program_runs(container, program, name, sanitizer):
    """The runtimes look up functions that they replace (strcmp, dl_iterate_phdr) before they are
    ready."""
    assert container.run(program(name, *SANITIZERS[sanitizer])) == "fine\n"


@pytest.fixture
def urgent(serve):
    """A tenant whose processes notify the arbiter whenever they begin to work, and wait for their
    turns."""

    def promise(tenants, uuid):
        device = {"uuid": uuid, "weight": 1, "memoryBytes": 1024 * MiB, "permille": 900}
        tenants.promise("mine", uuid, priority="latency-critical", devices=[device])
        return ["mine"]

    return serve(promise)


def test_a_cancelled_thread_leaves_nothing_locked(urgent, program):
    assert urgent.run(program("cancelled.cpp")) == "fine\n"


def test_errno_stays_what_it_was(urgent, program):
    assert urgent.run(shows := program("errno_kept.cpp"))
    seen = urgent.run(shows)
    urgent.env["PRELOAD"] = ""
    assert seen == urgent.run(shows)


CONTEXT = 256  # MiB, of a simulated L20


@pytest.mark.parametrize(("how", "count"), [("fork", 1), ("fork", 2), ("_Fork", 1), ("clone", 1), ("spawn", 1), ("daemon", 1)])
def test_a_child_of_a_program_that_asked_nvml_has_its_memory_counted_once(serve, program, how, count):
    def promise(tenants, uuid):
        tenants.promise("mine", uuid, memory=2048 * MiB)
        return ["mine"]

    container = serve(promise)
    launcher = container.start([program("forks.cpp"), how, str(count)])
    for _ in range(count):
        assert launcher.stdout.readline() == "512\n", launcher.communicate()

    def counted():
        tenant = container.status()["tenants"][0]
        return tenant["processes"], tenant["devices"][0]["outsideBytes"] // MiB

    wait_until(lambda: counted() == (1 + count, count * CONTEXT), "each process is counted by itself", 5)
    held = []
    for _ in range(count):  # one after the other: who reads its line first is not told
        launcher.stdin.write("x")
        launcher.stdin.flush()
        held.append(int(launcher.stdout.readline()))
    assert sum(held) == 2048 - count * CONTEXT
    finish(launcher)


@pytest.mark.parametrize("what", ["nothing", "file", "socket"])
def test_a_program_that_closes_what_it_did_not_open_keeps_its_own(urgent, program, what):
    """closefrom() and daemon(), then files of the program's under numbers that were the
    limiter's."""
    closing = urgent.start([program("closes.cpp"), what])
    first, is_high, fine = (closing.stdout.readline() for _ in range(3))
    assert fine == "fine\n", closing.communicate()
    assert is_high == "0\n", "the numbers that a program gets are those it would get alone"

    def tenant():
        told = urgent.status()["tenants"][0]
        return told["processes"], told["devices"][0]["chargedBytes"] // MiB, urgent.status()["findings"]

    wait_until(lambda: tenant() == (1, 64, []), "the arbiter knows the process, and what it holds", 10)
    finish(closing)


def test_what_a_name_space_of_its_own_takes_counts_for_the_tenant(container, program):
    """It cannot be limited from inside: dlmopen() lets nothing precede what is loaded there."""
    library = program("name_space.cpp", "-shared", "-fPIC")
    taking = container.start([program("name_space.cpp"), library])
    assert taking.stdout.readline() == "taken\n", taking.communicate()

    def outside():
        return container.status()["tenants"][0]["devices"][0]["outsideBytes"] // MiB

    wait_until(lambda: outside() == CONTEXT + 512, "NVML's count of it is the tenant's", 15)
    finish(taking)


ROOT_DOES = {
    "nothing": "",
    "an arbiter of its own": "mkdir /run/tranche/0 && ln -s $FORGED/0/arbiter.sock /run/tranche/0/arbiter.sock",
    "mv": "mv /run/tranche /run/x",
    "an arbiter instead": "mv /run/tranche /run/x && mkdir /run/tranche && ln -s $FORGED/0 /run/tranche/0",
}


@pytest.mark.parametrize("what", ROOT_DOES)
def test_what_was_promised_holds_whatever_stands_under_run_tranche(container, program, tmp_path, what):
    """If a grant mounts the library, the mounts from the same place on the node are tenants."""
    (folder := tmp_path / "forged").mkdir()
    machine, uuid = ours.simulated_l20(tmp_path)
    forged = ours.Tenants(folder / "tenants")
    forged.promise("0", uuid, memory=40 * 1024 * MiB)
    arbiter = ours.arbiter(folder, forged.folder, **machine)
    wait_until(lambda: forged.socket("0").exists(), "the forged arbiter answers")
    container.env["FORGED"] = str(forged.folder)
    container.grant(ROOT_DOES[what])
    taken = int(container.run(program("takes.cpp")))
    assert arbiter.stop() == 0
    assert 1024 - CONTEXT <= taken <= 1024


def test_without_what_was_promised_there_is_no_memory(container, program):
    container.grant("umount /run/tranche/mine")
    taking = container.start([program("takes.cpp")])
    out, err = taking.communicate(timeout=60)
    assert out == "0\n"
    assert "what this container was promised is not mounted any more" in err
