"""NVIDIA's MPS on the simulated driver: the control daemon, its commands, its servers, their clients."""

import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

from mps_support import CLIENT

OUT_OF_MEMORY, NO_DEVICE, DEVICE_UNAVAILABLE, LAUNCH_FAILED = 2, 100, 46, 719
NOT_PERMITTED, NO_PARTITION = 800, 915
CONNECTION_FAILED, RPC_FAILURE, NOT_READY, MAX_CLIENTS, TERMINATED = 805, 806, 807, 808, 810
L20 = 46068  # MiB
CONTEXT = 256  # MiB


def test_a_daemon_starts_answers_and_quits(mps):
    one = mps()
    missing = one.control(commands="get_server_list")
    assert missing.returncode == 1
    assert missing.stderr == "Cannot find MPS control daemon process\n"
    one.start()
    assert sorted(path.name for path in one.pipe.iterdir()) == [
        "control", "control_lock", "nvidia-cuda-mps-control.pid"]
    second = one.control("-d")
    assert (second.returncode, second.stderr) == (1, "An instance of this daemon is already running\n")
    # As NVIDIA's device plugin asks: without a newline.
    assert one.ask("get_default_active_thread_percentage") == "100.0\n"
    assert one.ask("get_server_list\n") == ""
    assert one.ask("quit") == ""
    assert one.control(commands="quit").returncode == 1
    log = one.log("control")
    assert f"Starting control daemon using socket {one.pipe}/control" in log
    assert re.match(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} Control +\d+\] ", log)
    # The folder stays, and the next daemon uses it.
    one.start()
    assert one.ask("get_server_list") == ""


def test_commands_of_defaults(mps):
    one = mps().start()
    assert one.ask("set_default_active_thread_percentage 25\nget_default_active_thread_percentage") == (
        "25.0\n25.0\n")
    assert one.ask("get_default_device_pinned_mem_limit 0") == f"{L20}M\n"
    assert one.ask("set_default_device_pinned_mem_limit 0 2158M") == ""
    assert one.ask("get_default_device_pinned_mem_limit 0") == "2158M\n"
    assert one.ask("get_default_client_priority") == "0\n"
    assert one.ask("set_default_client_priority 1\nget_default_client_priority") == "1\n"
    assert "terminate_client" in one.ask("help")
    for wrong in ("set_default_active_thread_percentage 0", "set_default_active_thread_percentage 101",
                  "set_default_active_thread_percentage", "set_default_device_pinned_mem_limit 0 2T",
                  "set_default_device_pinned_mem_limit 7 1G", "set_default_client_priority 2",
                  "get_client_list", "get_client_list 1", "start_server", "nonsense"):
        assert one.refused(wrong), wrong
    # A wrong one does not keep the others from being obeyed.
    done = one.control(commands="nonsense\nget_default_active_thread_percentage\n")
    assert (done.returncode, done.stdout) == (1, "25.0\n")


def test_defaults_come_from_the_daemons_environment(mps):
    one = mps().start(CUDA_MPS_ACTIVE_THREAD_PERCENTAGE="33.3",
                      CUDA_MPS_PINNED_DEVICE_MEM_LIMIT="0=2G", CUDA_MPS_CLIENT_PRIORITY="1")
    assert one.ask("get_default_active_thread_percentage") == "33.3\n"
    assert one.ask("get_default_device_pinned_mem_limit 0") == "2G\n"
    assert one.ask("get_default_client_priority") == "1\n"


def test_a_program_is_a_client_of_a_server_that_is_started_for_it(mps):
    one = mps().start()
    program = one.program().joined()
    assert program("mps") == (0, 1)
    server = one.server()
    assert one.ask(f"get_server_status {server}") == "ACTIVE\n"
    assert one.ask(f"get_client_list {server}") == f"{program.pid}\n"
    uuid = one.machine.show()["gpus"][0]["uuid"]
    assert one.ask("get_device_client_list") == f"{uuid} {program.pid}\n"
    header, line = one.ask("ps").splitlines()
    assert header.split() == ["PID", "ID", "SERVER", "DEVICE", "NAMESPACE", "COMMAND"]
    namespace = os.stat("/proc/self/ns/pid").st_ino
    assert line.split()[:5] == [str(program.pid), "0", str(server), uuid[:22], str(namespace)]
    assert uuid in one.ask("device_query")
    # NVML: the server computes, the client is MPS's.
    table = one.machine.smi()
    assert re.search(rf"{server} +C +nvidia-cuda-mps-server", table)
    assert re.search(rf"{program.pid} +M\+C ", table)
    kinds = {process["pid"]: process["kind"] for process in one.machine.show()["gpus"][0]["processes"]}
    assert kinds == {server: "compute", program.pid: "mps"}
    program.end()
    one.await_line("server", rf"PID: {program.pid}\}} disconnected")
    assert one.ask(f"get_client_list {server}") == ""
    assert f"NEW CLIENT {program.pid} from user {os.getuid()}" in one.log("control")


def test_without_a_daemon_a_program_runs_by_itself(mps):
    one = mps()
    assert one.program().joined()("mps") == (0, 0)
    # Another machine's daemon does not count.
    other = mps().start()
    assert one.program(pipe=other.pipe).joined()("mps") == (0, 0)


def test_limits_are_the_servers_lowered_by_the_clients_own(mps):
    one = mps().start()
    one.ask("set_default_device_pinned_mem_limit 0 2G")
    plain, lower, higher = (
        one.program(**env).joined()
        for env in ({}, {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "0=1G"},
                    {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "0=30G"}))
    assert plain("free") == (0, 2048 - CONTEXT)
    assert lower("free") == (0, 1024 - CONTEXT)
    assert higher("free") == (0, 2048 - CONTEXT)
    assert plain("allocate", 1024) == 0
    assert plain("allocate", 1024) == OUT_OF_MEMORY
    # A limit of one process, not of all together.
    assert higher("allocate", 1024) == 0
    # Defaults are for later servers, a server's own for later clients.
    one.ask("set_default_device_pinned_mem_limit 0 4G")
    server = one.server()
    assert one.ask(f"get_device_pinned_mem_limit {server} 0") == "2G\n"
    assert one.program().joined()("free") == (0, 2048 - CONTEXT)
    uuid = one.machine.show()["gpus"][0]["uuid"]
    one.ask(f"set_device_pinned_mem_limit {server} {uuid} 3G")
    assert one.ask(f"get_device_pinned_mem_limit {server} 0") == "3G\n"
    assert plain("free") == (0, 1024 - CONTEXT)
    assert one.program().joined()("free") == (0, 3072 - CONTEXT)
    assert one.ask(f"set_active_thread_percentage {server} 40") == "40.0\n"
    assert one.ask(f"get_active_thread_percentage {server}") == "40.0\n"
    assert one.ask("get_default_active_thread_percentage") == "100.0\n"


def test_a_server_has_room_for_48_contexts_on_a_gpu(mps):
    one = mps().start()
    many, few = one.program().joined(), one.program().joined()
    assert [many("context") for _ in range(46)] == [0] * 46
    assert many("context") == MAX_CLIENTS
    late = one.program()
    assert (late("init"), late("context")) == (0, MAX_CLIENTS)
    assert many("destroy") == 0
    assert late("context") == 0
    assert few("context") == MAX_CLIENTS
    # A process that dies releases its places.
    many.process.kill()
    one.await_line("server", rf"PID: {many.pid}\}} disconnected")
    assert few("context") == 0


def test_terminating_a_client_ends_its_contexts_and_no_others(mps):
    one = mps().start()
    victim, other = one.program().joined(), one.program().joined()
    assert (victim("allocate", 1024), victim("spin", 3600 * 10**9)) == (0, 0)
    victim.say("synchronize")  # in an hour
    one.ask(f"terminate_client {one.server()} {victim.pid}")
    assert victim.receive() == TERMINATED
    assert victim("allocate", 1) == TERMINATED
    assert other("free") == (0, L20 - used(one))
    assert (other("spin", 1000), other("synchronize")) == (0, 0)
    assert one.ask(f"get_client_list {one.server()}") == f"{other.pid}\n"
    assert one.refused(f"terminate_client {one.server()} {victim.pid}")


def used(one):
    memory = one.machine.show()["gpus"][0]["memoryMiB"]
    return memory["used"] + memory["reserved"]


def test_a_killed_server_ends_its_clients_and_a_new_one_serves_the_next(mps):
    one = mps().start()
    client = one.program().joined()
    server = one.server()
    os.kill(server, signal.SIGKILL)
    one.await_line("control", f"Server {server} exited with status 137")
    assert client("allocate", 1) == RPC_FAILURE
    assert client("context") == RPC_FAILURE
    assert one.program().joined()("mps") == (0, 1)
    assert one.server() != server


def test_a_killed_daemon_ends_everybody_and_leaves_nothing_in_the_way(mps):
    one = mps().start()
    client = one.program().joined()
    daemon = one.daemon()
    os.kill(daemon, signal.SIGKILL)
    one.await_line("server", "Server exiting")
    # The socket's file is still there; nobody answers at it.
    assert (one.pipe / "control").is_socket()
    assert one.control(commands="get_server_list").returncode == 1
    while (answer := client("allocate", 1)) == 0:
        os.sched_yield()
    assert answer == RPC_FAILURE
    assert one.program().joined()("mps") == (0, 0)
    one.start()
    assert one.daemon() != daemon
    assert one.program().joined()("mps") == (0, 1)
    assert client("allocate", 1) == RPC_FAILURE


def test_a_server_that_is_shut_down_waits_for_its_clients_unless_forced(mps):
    one = mps().start()
    client = one.program().joined()
    server = one.server()
    assert one.ask(f"shutdown_server {server}") == ""
    assert client("allocate", 1) == 0
    # The next client waits until it has gone.
    late = one.program()
    late.say("init")
    one.await_line("control", f"NEW CLIENT {late.pid} from user .*pending")
    client.end()
    assert late.receive() == 0
    assert late("context") == 0
    second = one.server()
    assert second != server
    assert one.ask(f"shutdown_server {second} -f") == ""
    one.await_line("control", f"Server {second} exited with status 0")
    assert late("allocate", 1) == RPC_FAILURE


def test_quit_waits_for_clients_or_its_time(mps):
    one = mps().start()
    client = one.program().joined()
    done = one.control(commands="quit -t 0")
    assert (done.returncode, done.stderr) == (0, "")
    assert client("allocate", 1) == RPC_FAILURE
    one.start()
    client = one.program().joined()
    env = {**one.machine.env, "CUDA_MPS_PIPE_DIRECTORY": str(one.pipe)}
    waiting = subprocess.Popen([str(one.machine.control), "-q"], env=env)
    one.await_line("control", "Cmd:quit\n")
    late = one.program()
    assert late("init") == NOT_READY
    assert client("allocate", 1) == 0
    assert waiting.poll() is None
    client.end()
    assert waiting.wait() == 0
    assert one.control(commands="get_server_list").returncode == 1


def test_exclusive_mode_is_for_one_process_or_one_server(mps):
    one = mps()
    one.machine.smi("-c", "EXCLUSIVE_PROCESS")
    first, second = one.program().joined(), one.program()
    assert (second("init"), second("context")) == (0, DEVICE_UNAVAILABLE)
    # A server gets no context next to them.
    one.start()
    client = one.program()
    assert client("init") == CONNECTION_FAILED
    assert "exited with status 1" in one.log("control")
    assert one.refused("start_server -uid 0")
    first.end()
    a, b = one.program().joined(), one.program().joined()
    assert a("mps") == b("mps") == (0, 1)
    # Programs that are no clients are shut out, before and after there are clients.
    stranger = one.program(pipe=one.folder / "nowhere")
    assert (stranger("init"), stranger("context")) == (0, DEVICE_UNAVAILABLE)
    # The remaining clients of a killed server do not keep the next server out.
    os.kill(one.server(), signal.SIGKILL)
    assert one.program().joined()("mps") == (0, 1)
    one.machine.smi("-c", "PROHIBITED")
    late = one.program()
    assert (late("init"), late("context")) == (0, DEVICE_UNAVAILABLE)


def test_the_pipe_folder_works_under_another_path(mps):
    one = mps().start()
    other = one.folder / "elsewhere"
    other.symlink_to(one.pipe)
    assert one.program(pipe=other).joined()("mps") == (0, 1)
    assert one.ask("get_default_active_thread_percentage", pipe=other) == "100.0\n"


def unshare(*arguments):
    return subprocess.run(["unshare", *arguments, "true"], capture_output=True).returncode == 0


@pytest.mark.skipif(not unshare("--mount", "--pid", "--fork"), reason="namespaces need root")
def test_a_container_reaches_the_daemon_through_its_own_mounts_and_pids(mps):
    one = mps().start()
    place = one.folder / "in-the-container"
    place.mkdir()
    (one.folder / "proc").mkdir()
    script = f'mount --bind {one.pipe} {place} && exec "$@"'
    steps = "init\ncontext\nmps\nallocate 16\n"
    env = {**one.machine.env, "CUDA_MPS_PIPE_DIRECTORY": str(place)}
    inside = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", script, "sh",
              sys.executable, str(CLIENT)]
    process = subprocess.Popen(inside, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write(steps)
    process.stdin.flush()
    assert [process.stdout.readline() for _ in range(4)] == ["0\n", "0\n", "0 1\n", "0\n"]
    # The daemon knows it by its pid out here, and can end it.
    [pid] = one.ask(f"get_client_list {one.server()}").split()
    assert pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().endswith(b"mps_client.py\0")
    own = os.stat("/proc/self/ns/pid").st_ino
    assert one.ask("ps").splitlines()[1].split()[4] != str(own)
    one.ask(f"terminate_client {one.server()} {pid}")
    out, _ = process.communicate("allocate 1\n", timeout=60)
    assert out == f"{TERMINATED}\n"


def ask_as(one, user, command):
    """The daemon's answer to another user, who may not be able to start its program."""
    body = f"""
import os, socket
os.setuid({user})
daemon = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
daemon.connect("{one.pipe}/control")
daemon.send(b"ui")
daemon.send(b"{command}")
print(daemon.recv(4096).decode())
"""
    return subprocess.run([sys.executable, "-c", body], capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(os.getuid() != 0, reason="other users need root")
def test_another_users_clients_wait_until_the_first_users_have_gone(mps):
    one = mps().start()
    first = one.program().joined()
    server = one.server()
    late = one.program(user=65534)
    late.say("init")
    one.await_line("control", f"NEW CLIENT {late.pid} from user 65534: .*pending")
    # A second one of the first user waits after it.
    third = one.program()
    third.say("init")
    one.await_line("control", f"NEW CLIENT {third.pid} from user 0: .*pending")
    assert one.server() == server
    first.end()
    assert late.receive() == 0
    assert one.server() != server
    # Only root and the daemon's user may give commands.
    assert "root" in ask_as(one, 65534, "get_server_list")
    late.end()
    assert third.receive() == 0


@pytest.mark.skipif(os.getuid() != 0, reason="other users need root")
def test_one_server_serves_all_users_when_told_to(mps):
    one = mps().start("-multiuser")
    programs = [one.program().joined(), one.program(user=65534).joined()]
    assert one.ask(f"get_client_list {one.server()}").split() == [str(each.pid) for each in programs]


def test_a_fatal_fault_strikes_every_client_on_its_gpu(mps):
    one = mps("a100-40gb-x4").start()
    culprit, neighbour = one.program().joined(), one.program().joined()
    elsewhere = one.program()
    assert (elsewhere("init"), elsewhere("context", 1)) == (0, 0)
    one.machine.sim("fault", "fail", "--function", "cuLaunchKernel", "--error", "LAUNCH_FAILED", "--gpu", "0")
    assert culprit("spin", 1000) == LAUNCH_FAILED
    one.machine.sim("clear")
    one.await_line("server", "from ACTIVE to FAULT")
    server = one.server()
    assert one.ask(f"get_server_status {server}") == "FAULT\n"
    assert neighbour("allocate", 1) == culprit("allocate", 1) == LAUNCH_FAILED
    assert elsewhere("allocate", 1) == 0
    # No new clients until those have gone.
    assert one.program()("init") == NOT_READY
    culprit.end()
    neighbour.end()
    one.await_line("server", "from RECOVERING to ACTIVE")
    assert one.ask(f"get_server_status {server}") == "ACTIVE\n"
    assert one.program().joined()("mps") == (0, 1)


def test_a_server_has_the_devices_that_the_daemon_sees(mps):
    one = mps("a100-40gb-x4").start(CUDA_VISIBLE_DEVICES="1,2")
    assert one.program().joined()("count") == (0, 2)
    assert one.program(CUDA_VISIBLE_DEVICES="2").joined()("count") == (0, 1)
    assert one.program(CUDA_VISIBLE_DEVICES="0")("init") == NO_DEVICE
    uuids = [gpu["uuid"] for gpu in one.machine.show()["gpus"]]
    assert [line.split()[0] for line in one.ask("get_device_client_list").splitlines()] == uuids[1:3]


def test_a_pipe_folder_with_too_long_a_path_is_refused(mps):
    one = mps()
    pipe = one.folder / ("long" * 25)
    done = one.control("-d", pipe=pipe)
    assert done.returncode == 1
    assert "107 bytes" in done.stderr
    assert one.control(commands="get_server_list", pipe=pipe).returncode == 1


CONFIG = """
schema_version = "1.0"

[servers.training]
pinned_memory_limit = "10G"
active_thread_percentage = "50"

[servers.training.namespaces.small]
pinned_memory_limit = "4G"
active_thread_percentage = "25"

[[servers.training.devices]]
uuid = "GPU-1"

  [[servers.training.devices.sm_partitions]]
  name = "large"
  chunks = 4

[servers.own]
uid = 0
pinned_memory_limit = "20G"

[features.memacct]
enabled = true
"""


def config(one, text):
    path = one.folder / "config.toml"
    path.write_text(text)
    return str(path)


@pytest.mark.skipif(os.getuid() != 0, reason="a server of root's clients")
def test_protocol_3_has_named_servers_and_namespaces(mps):
    one = mps("h100-r615")
    one.start("-p", "3", "-a", config(one, CONFIG))
    assert len(one.ask("get_server_list").split()) == 2
    for place, limit in (("training", 10), ("training/default", 10), ("training/small", 4), ("", 20)):
        program = one.program(pipe=one.pipe / place).joined()
        assert program("free") == (0, limit * 1024 - CONTEXT), place
    small = one.program(pipe=one.pipe / "training" / "small", CUDA_MPS_PINNED_DEVICE_MEM_LIMIT="0=8G").joined()
    assert small("free") == (0, 4 * 1024 - CONTEXT)
    # The commands of protocol 2 are obeyed.
    own, training = one.ask("get_server_list").split()  # by name
    assert len(one.ask(f"get_client_list {training}").split()) == 4
    assert len(one.ask(f"get_client_list {own}").split()) == 1
    assert one.ask(f"get_active_thread_percentage {training}") == "50.0\n"
    assert one.ask("quit -t 0") == ""
    assert not (one.pipe / "training").exists()


def test_protocol_3_is_for_drivers_that_have_it(mps):
    one = mps()
    done = one.control("-d", "-p", "3")
    assert done.returncode == 1
    assert "needs driver 615 or newer; this is 570.158.01" in done.stderr
    assert one.control("-d", CUDA_MPS_PROTOCOL_VERSION="3").returncode == 1
    assert one.control("-d", "-p", "4").returncode == 1


@pytest.mark.parametrize("text, message", [
    ("[servers.a]\nshare = 1\n", ":2: servers.a: unknown key 'share'"),
    ("[servers.a]\nactive_thread_percentage = \"0\"\n", ":2: 'active_thread_percentage' must be"),
    ("[servers.a]\npinned_memory_limit = \"10\"\n", ":2: 'pinned_memory_limit' must be"),
    ("[servers.a]\nclient_priority = 1\n", ":2: 'client_priority' must be a string"),
    ("[servers.a]\nuid = \"x\"\n", ":2: 'uid' must be a number"),
    ("[servers.a.namespaces.b]\nuid = 1\n", "unknown key 'uid'"),
    ("[features.memacct]\nenabled = 1\n", "'enabled' must be true or false"),
    ("[[servers.a.devices]]\nsm_partitions = 1\n", "needs a uuid"),
    ("schema_version = \"9\"\n", "schema_version"),
    ("[servers", ":1:"),
])
def test_what_is_wrong_in_a_configuration_is_told_with_its_line(mps, text, message):
    one = mps("h100-r615")
    done = one.control("-d", "-p", "3", "-a", config(one, text))
    assert done.returncode == 1
    assert message in done.stderr
    assert one.control(commands="get_server_list").returncode == 1


def test_a_configuration_needs_protocol_3_and_must_be_there(mps):
    one = mps("h100-r615")
    assert "-p 3" in one.control("-d", "-a", config(one, "")).stderr
    missing = one.control("-d", "-p", "3", "-a", "/nowhere.toml")
    assert (missing.returncode, missing.stderr) == (1, "open /nowhere.toml: no such file\n")


NAMESPACES = """
[servers.shared]
pinned_memory_limit = "10G"
active_thread_percentage = "50"

[servers.shared.namespaces.free]

[servers.shared.namespaces.large]
pinned_memory_limit = "20G"
"""


def test_a_namespace_takes_nothing_from_its_server(mps):
    one = mps("h100-r615")
    one.start("-p", "3", "-m", "-a", config(one, NAMESPACES))
    total = one.machine.show()["gpus"][0]["memoryMiB"]["total"]
    free = one.program(pipe=one.pipe / "shared" / "free").joined()
    result, left = free("free")
    assert result == 0 and left > total - 2048
    assert one.program(pipe=one.pipe / "shared" / "large").joined()("free") == (0, 20 * 1024 - CONTEXT)
    assert one.program(pipe=one.pipe / "shared").joined()("free") == (0, 10 * 1024 - CONTEXT)


def test_commands_of_protocol_3_are_arguments(mps):
    one = mps("h100-r615")
    one.start("-p", "3", "-m", "-a", config(one, NAMESPACES))

    def say(*arguments):
        done = one.control(*arguments)
        assert (done.returncode, done.stderr) == (0, ""), arguments
        return done.stdout

    one.await_line("control", "NEW SERVER .*: Ready")
    [row] = say("server", "list", "--format=csv,noheader").splitlines()
    assert row.split(",")[0] == "shared" and row.split(",")[3] == "Ready"
    assert say("server", "get", "shared", "status") == "Ready\n"
    assert say("server", "get", "shared", "pipe-directory") == f"{one.pipe}/shared\n"
    running = one.program(pipe=one.pipe / "shared").joined()
    say("server", "set", "shared", "--pinned-memory-limit=12G", "--active-thread-percentage=25")
    assert one.program(pipe=one.pipe / "shared").joined()("free") == (0, 12 * 1024 - CONTEXT)
    assert running("free") == (0, 10 * 1024 - CONTEXT)

    say("namespace", "create", "small", "--server=shared")
    say("namespace", "set", "small", "--server=shared", "--pinned-memory-limit=4G")
    assert say("namespace", "get", "small", "shared", "pinned-memory-limit") == "4G\n"
    assert one.program(pipe=one.pipe / "shared" / "small").joined()("free") == (0, 4 * 1024 - CONTEXT)
    assert [row.split(",")[0] for row in say("namespace", "list", "--server=shared").splitlines()] == [
        "free", "large", "small"]
    say("namespace", "delete", "small", "--server=shared")
    assert not (one.pipe / "shared" / "small").exists()
    for wrong in (("server", "get", "nobody", "status"), ("namespace", "set", "large", "--server=nobody"),
                  ("namespace", "create", "Big", "--server=shared"),
                  ("namespace", "create", "large", "--server=shared"),
                  ("namespace", "set", "large", "--server=shared"),
                  ("namespace", "set", "large", "--server=shared", "--pinned-memory-limit=4"),
                  ("namespace", "delete", "nobody", "--server=shared")):
        assert one.control(*wrong).returncode == 1, wrong
    os.kill(int(row.split(",")[2]), signal.SIGKILL)
    one.await_line("control", "exited with status 137")
    assert one.control("server", "get", "shared", "status").returncode == 1
    assert say("-q") == ""


@pytest.mark.skipif(os.getuid() != 0, reason="other users need root")
def test_a_named_server_is_its_owners_alone_unless_it_is_for_many(mps):
    one = mps("h100-r615")
    one.start("-p", "3", "-a", config(one, NAMESPACES))
    assert one.program(pipe=one.pipe / "shared", user=65534)("init") == NOT_PERMITTED
    assert one.ask("quit") == ""
    one.start("-p", "3", "-m", "-a", config(one, NAMESPACES))
    one.program(pipe=one.pipe / "shared", user=65534).joined()


def test_static_partitions_of_protocol_2(mps):
    one = mps("h100-r615").start("-S")
    uuid = one.machine.show()["gpus"][0]["uuid"]
    assert one.ask("lspart").splitlines()[2].split() == [uuid[:12], "-", "16", "0", "132", "0", "-"]
    large = one.ask(f"sm_partition add {uuid} 7").strip()
    small = one.ask(f"sm_partition add {uuid} 2").strip()
    assert large.startswith(f"{uuid}/") and large != small
    assert one.ask("lspart").splitlines()[2].split() == [uuid[:12], "-", "7", "9", "60", "72", "-"]
    assert "INVALID_RESOURCE_CONFIGURATION" in one.refused(f"sm_partition add {uuid} 8")
    assert one.refused(f"sm_partition add {uuid} 0")
    assert one.refused("sm_partition add GPU-nobody 1")
    one.program(CUDA_MPS_SM_PARTITION=large).joined()
    for said in (None, "", f"{uuid}/nothing"):
        outside = one.program(**({} if said is None else {"CUDA_MPS_SM_PARTITION": said}))
        assert (outside("init"), outside("context")) == (0, NO_PARTITION)
    one.ask(f"sm_partition rm {uuid} {small.split('/')[1]}")
    assert one.refused(f"sm_partition rm {uuid} {small.split('/')[1]}")


def test_static_partitions_of_protocol_3(mps):
    one = mps("h100-r615")
    one.start("-p", "3", "-a", config(one, NAMESPACES))
    uuid = one.machine.show()["gpus"][0]["uuid"]
    assert one.control("device", "list").stdout.strip().split(",")[3:7] == [
        uuid, "NVIDIA H100 80GB HBM3", "132", "16"]
    # Nothing is partitioned yet: nobody needs a partition.
    one.program(pipe=one.pipe / "shared").joined().end()
    made = one.control("sm-partition", "create", "a", "--server=shared", f"--device={uuid}", "--chunks=4").stdout
    partition = made.splitlines()[1].removeprefix("CUDA_MPS_SM_PARTITION=")
    for wrong in (("create", "a", "--server=shared", f"--device={uuid}", "--chunks=1"),
                  ("create", "b", "--server=shared", f"--device={uuid}", "--chunks=13"),
                  ("create", "b", "--server=shared", f"--device={uuid}"),
                  ("create", "b", "--server=nobody", f"--device={uuid}", "--chunks=1"),
                  ("delete", "b", "--server=shared", f"--device={uuid}")):
        assert one.control("sm-partition", *wrong).returncode == 1, wrong
    outside = one.program(pipe=one.pipe / "shared")
    assert (outside("init"), outside("context")) == (0, NO_PARTITION)
    one.program(pipe=one.pipe / "shared", CUDA_MPS_SM_PARTITION=partition).joined().end()
    assert one.control("sm-partition", "delete", "a", "--server=shared", f"--device={uuid}").returncode == 0
    one.program(pipe=one.pipe / "shared").joined()


def test_static_partitions_need_the_program_the_mode_and_the_gpu(mps):
    one = mps("t4")
    assert one.control("-d", "-S").returncode == 1  # CUDA 12
    other = mps("h100-r615").start()
    uuid = other.machine.show()["gpus"][0]["uuid"]
    assert "not enabled" in other.refused("lspart")
    assert "not enabled" in other.refused(f"sm_partition add {uuid} 1")


def test_the_program_of_a_driver_root_is_the_same(mps):
    one = mps()
    root = one.folder / "root"
    one.machine.sim("root", str(root), "--plain-nodes", "--driver-root", "/run/nvidia/driver")
    installed = root / "run" / "nvidia" / "driver" / "usr" / "bin" / "nvidia-cuda-mps-control"
    assert installed.read_bytes() == one.machine.control.read_bytes()


def test_in_the_foreground_the_logs_are_told_as_well(mps):
    one = mps()
    env = {**one.machine.env, "CUDA_MPS_PIPE_DIRECTORY": str(one.pipe),
           "CUDA_MPS_LOG_DIRECTORY": str(one.folder / "log")}
    with subprocess.Popen([str(one.machine.control), "-f"], env=env, text=True,
                          stdout=subprocess.PIPE) as daemon:
        assert "Starting control daemon" in daemon.stdout.readline()
        one.await_line("control", "binary version")
        one.ask("start_server -uid 0")
        daemon.terminate()
        said = daemon.stdout.read()
    assert daemon.returncode == 0
    assert "Server has started" in said and said.rstrip().endswith(("Exit", "Server exiting"))
    assert one.control(commands="get_server_list").returncode == 1


def test_a_mig_device_has_a_server_too(mps):
    one = mps("a100-40gb-mig").start()
    one.ask("set_default_device_pinned_mem_limit 0 2G")
    program = one.program().joined()
    assert program("mps") == (0, 1)
    assert program("free") == (0, 2048 - CONTEXT)
    assert one.ask("get_device_client_list").startswith("MIG-")
    [client] = [each for gpu in one.machine.show()["gpus"] for each in gpu["processes"] if each["kind"] == "mps"]
    assert client["pid"] == program.pid and client["gpuInstance"] is not None


def test_a_daemon_needs_a_machine_and_a_place_for_its_log(mps):
    one = mps()
    (one.folder / "file").write_text("")
    done = one.control("-d", log=one.folder / "file")
    assert done.returncode == 1 and "control.log" in done.stderr
    nowhere = one.control("-d", TRANCHE_SIM=str(one.folder / "no.yaml"), TRANCHE_SIM_STATE=str(one.folder / "none"))
    assert nowhere.returncode == 1 and "no.yaml" in nowhere.stderr
    # Neither left a daemon behind.
    one.start()


@pytest.mark.skipif(not unshare("--mount", "--pid", "--fork"), reason="namespaces need root")
def test_a_supervisors_bare_environment_is_enough_on_a_node_that_plays_a_machine(mps):
    one = mps()
    one.machine.show()
    bare = f"env -i CUDA_MPS_PIPE_DIRECTORY={one.pipe} CUDA_MPS_LOG_DIRECTORY={one.folder}/log {one.machine.control}"
    script = f"""
set -e
mount -t tmpfs none /run
mkdir /run/tranche-sim
mount --bind {one.folder} /run/tranche-sim
{bare} -d
printf 'start_server -uid 0' | {bare}
printf 'get_default_active_thread_percentage' | {bare}
printf 'quit' | {bare}
"""
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "100.0\n", "")


def test_before_volta_a_server_has_room_for_16_contexts(mps):
    one = mps()
    older = one.folder / "pascal.yaml"
    text = one.machine.file.read_text()
    older.write_text(text.replace('compute_capability: "8.9"', 'compute_capability: "6.1"'))
    assert older.read_text() != text
    one.machine.env["TRANCHE_SIM"] = str(older)
    one.start()
    program = one.program().joined()
    assert [program("context") for _ in range(16)] == [0] * 15 + [MAX_CLIENTS]
