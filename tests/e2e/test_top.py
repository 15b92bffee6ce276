"""`tranche top` on a pseudo terminal and in a pipe: of an agent, of the driver, of a controller, of a
recording; what it says is what usage/v1 and fleet/v1 say."""

import json
import re
import shutil
import signal
import subprocess
import urllib.error

import pytest

from loopback import LoopbackServer
from node import GPU, sharing
from programs import DEADLINE, TRANCHE, TRANCHE_SIM, clean_environment, wait_until
from terminal import Terminal
from test_metrics import metrics_agent, usage

MIB = 1 << 20
# Of what xterm can, pyte does not repeat a sign (CSI b).
LOOK = {"TERM": "screen-256color", "LC_ALL": "C.UTF-8"}


@pytest.fixture
def terminal():
    opened = []

    def start(*arguments, env=None, columns=120, lines=30):
        environment = {**(env or clean_environment()), **LOOK}
        opened.append(Terminal([str(TRANCHE), "top", *arguments], environment, columns, lines))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def top(*arguments, env=None) -> subprocess.CompletedProcess:
    return subprocess.run(
        [TRANCHE, "top", *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**(env or clean_environment()), **LOOK},
        timeout=2 * DEADLINE,
    )


def occupy(here, *arguments):
    return here.start("occupy", "--gpu", 0, *arguments, executable=TRANCHE_SIM)


@pytest.fixture
def shared_node(node):
    """A T4 in four, a Pod that has one of them, and a process that nobody here can tell the Pod of."""
    here = node("t4")
    here.metrics = metrics_agent(here, config=sharing(4))
    here.kubelet.wait(GPU, allocatable=4)
    here.kubelet.admit("train", {GPU: 1})
    occupy(here, "--memory", "1000Mi", "--util", "50")

    def sees_both():
        try:
            told = usage(here.metrics)
        except urllib.error.HTTPError:  # it has not looked yet
            return False
        return "containers" in told and told["gpus"][0].get("memoryUsed", 0) >= 1000 * MIB

    wait_until(sees_both, "the agent sees both")
    here.url = f"http://127.0.0.1:{here.metrics.port}"
    return here


def test_live_of_an_agent(shared_node, terminal, tmp_path):
    kept = tmp_path / "kept.jsonl"
    live = terminal("--agent", shared_node.url, "--interval", "200ms", "--record", str(kept))
    text = live.until(lambda text: "/train/" in text and "time-slicing" in text)
    used = usage(shared_node.metrics)["gpus"][0]["memoryUsed"] // MIB
    line = next(line for line in text.splitlines() if "Tesla T4" in line)
    assert f" {used}Mi " in line and "15.00Gi" in line
    # Nobody here can say what the Pod uses: that is not 0.
    line = next(line for line in text.splitlines() if "/train/" in line)
    assert line.split()[1] == "?" and " 0 " not in line
    live.until("50%", "the load is seen")

    live.press("/memm>1\r")
    live.until("column 1: no field 'memm'; did you mean mem?")
    live.press("\x15ns=nobody\r")
    live.until("nothing matches the filter")
    live.press("\x1b")
    live.until("/train/")
    live.press("s")
    live.until("sort: memory")
    live.press("t")
    live.until("@0")
    live.press("?")
    live.until("PgUp PgDn")
    live.press("q")
    live.until("/train/")

    for columns, lines in ((20, 5), (1, 1), (200, 50)):
        live.resize(columns, lines)
        if columns >= 20:
            live.until(lambda text, wide=columns: any(len(line) > wide * 0.6 for line in text.splitlines()), "it is painted anew")
    live.until("LAST MINUTE")
    live.press("q")
    assert live.wait() == 0
    assert b"\x1b[?1049l" in live.raw, "the terminal is as it was"

    lines = [json.loads(line) for line in kept.read_text().splitlines()]
    assert len(lines) >= 2 and all(line["version"] == "usage/v1" for line in lines)
    replay = terminal("--replay", str(kept), "--speed", "100")
    replay.until("the recording has ended")
    replay.until("/train/")
    replay.press("q")
    assert replay.wait() == 0


def test_an_agent_that_hangs_or_goes_hangs_no_key(shared_node, terminal):
    live = terminal("--agent", shared_node.url, "--interval", "100ms")
    live.until("/train/")
    shared_node.metrics.signal(signal.SIGSTOP)
    live.press("s")
    live.until("sort: memory")
    # Its last figures stay, with their age.
    live.until(lambda text: re.search(r"[1-9]\d*(\.\d)?s old", text.splitlines()[0]), "the age grows")
    assert "/train/" in live.text()
    shared_node.metrics.signal(signal.SIGCONT)
    shared_node.kubelet.watched.remove(shared_node.metrics)
    shared_node.metrics.kill()
    live.until("and is its address right?")
    live.press("q")
    assert live.wait() == 0


def test_once(shared_node, tmp_path):
    done = top("-1", "--agent", shared_node.url)
    assert (done.returncode, done.stderr) == (0, "")
    assert "/train/c" in done.stdout and "Tesla T4" in done.stdout and "\x1b" not in done.stdout
    # Without a terminal it is once.
    assert "/train/c" in top("--agent", shared_node.url).stdout
    told = json.loads(top("--agent", shared_node.url, "-o", "json").stdout)
    assert told["version"] == "usage/v1" and told["containers"][0]["pod"] == "train"
    assert "pod: \"train\"" in top("--agent", shared_node.url, "-o", "yaml").stdout
    listed = top("-1", "--agent", shared_node.url, "--filter", "state=unknown", "--tree=false", "--ascii").stdout
    assert listed.isascii() and "/train/c @0" in listed


def test_of_the_driver_where_there_is_no_agent(node, terminal):
    here = node("l20", kubelet=False)
    occupy(here, "--memory", "315Mi", "--util", "50")
    done = top("-1", "--local", env=here.env)
    assert done.returncode == 0 and "NVIDIA L20" in done.stdout
    wait_until(lambda: " 50%" in top("-1", "--local", env=here.env).stdout, "the load is seen")
    live = terminal("--local", "--interval", "100ms", env=here.env)
    live.until("NVIDIA L20")
    live.until(lambda text: " 50%" in text, "the load is seen")
    here.sim("fault", "hang")
    live.press("s")
    live.until("sort: memory")
    live.press("q")
    assert live.wait() == 0


def test_errors_and_exit_codes(tmp_path):
    torn = tmp_path / "torn.jsonl"
    torn.write_text("{")
    for arguments, code, said in (
        (["--sort", "mem"], 2, "write name, memory, compute or wait"),
        (["--filter", "mem>"], 2, "--filter: column 5: 'mem' is compared with nothing"),
        (["--local", "--replay", "x"], 2, "stands beside --local"),
        (["more"], 2, "unexpected argument 'more'"),
        (["--replay", str(tmp_path / "none")], 2, "No such file"),
        (["--replay", str(torn)], 2, "has no reading"),
        (["--agent", "localhost:9400"], 2, "write https://host:port"),
        (["--agent", "http://127.0.0.1:1"], 3, "is the agent running, and is its address right?"),
        (["--controller", "https://127.0.0.1:1"], 3, "is the controller running"),
        (["--controller", "http://a.test:1", "--token-file", str(torn)], 2, "not sent to http://a.test:1 without TLS"),
        (["--local"], 3, "cannot load libnvidia-ml.so.1"),
        (["--kubeconfig", str(tmp_path / "none")], 2, "there is no file"),
    ):
        done = top("-1", *arguments)
        assert (done.returncode, done.stdout) == (code, ""), (arguments, done.stderr)
        assert said in done.stderr, (arguments, done.stderr)


def test_a_terminal_that_nobody_knows_is_told(terminal, tmp_path):
    env = clean_environment()
    env["TERM"] = "xyz"
    done = Terminal([str(TRANCHE), "top", "--agent", "http://127.0.0.1:1"], env)
    try:
        assert done.wait() == 2
        assert "this terminal is not known here (TERM=xyz)" in done.text()
    finally:
        done.close()


def fleet() -> dict:
    node = {"version": "usage/v1", "takenAt": "2026-01-01T00:00:00.000000Z"}
    gpu = {"index": 0, "uuid": "GPU-0", "model": "Tesla T4", "memoryTotal": 15 << 30, "memoryUsed": 3 << 30}
    container = {
        "namespace": "team-a", "pod": "train-0", "container": "main", "resource": GPU, "mechanism": "mps",
        "gpu": "GPU-0", "device": "GPU-0", "gpus": 0.5, "attributed": True, "memoryUsed": 1234 * MIB,
    }  # fmt: skip
    return {
        "version": "fleet/v1",
        "takenAt": "2026-01-01T00:00:00.000000Z",
        "nodes": [
            {"name": "gpu-1", "reporting": "fresh", "usage": {**node, "node": "gpu-1", "gpus": [gpu], "containers": [container]}},
            {"name": "gpu-2", "reporting": "silent", "why": "no answer in time", "usage": {**node, "node": "gpu-2"}},
        ],
    }  # fmt: skip


@pytest.fixture
def controller():
    """Answers /v1/fleet, also behind the path of a service proxy; keeps the requests."""
    with LoopbackServer(lambda _: (200, json.dumps(fleet()).encode())) as server:
        yield server


def test_of_the_cluster(controller, terminal, tmp_path):
    token = tmp_path / "token"
    token.write_text("secret")
    live = terminal("--controller", controller.url, "--token-file", str(token))
    text = live.until("team-a/train-0/main")
    assert "1 of 2 nodes reporting" in text and "not reporting: gpu-2 (silent: no answer in time)" in text
    assert " 1234Mi " in text and " mps" in text
    assert controller.asked[0][0] == "/v1/fleet"
    assert controller.asked[0][1]["X-Tranche-Token"] == "secret"
    live.press("q")
    assert live.wait() == 0

    config = tmp_path / "kubeconfig"
    config.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "x",
        "clusters": [{"name": "c", "cluster": {"server": controller.url}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {}}],
    }))  # fmt: skip
    done = top("--kubeconfig", config, "-o", "json")
    assert json.loads(done.stdout)["nodes"][1]["why"] == "no answer in time", done.stderr
    assert controller.asked[-1][0] == (
        "/api/v1/namespaces/tranche/services/tranche-controller-web:web/proxy/v1/fleet"
    )
    assert "X-Tranche-Token" not in controller.asked[-1][1]
    arguments = ("--service", "gpu/http:web:80", "--token-file", token, "--filter", "mem>1Gi")
    done = top("--kubeconfig", config, *arguments)
    assert "team-a/train-0/main" in done.stdout and "gpu-2" not in done.stdout.split("NAME")[1]
    path, headers = controller.asked[-1]
    assert path.startswith("/api/v1/namespaces/gpu/services/http:web:80/proxy")
    assert headers["X-Tranche-Token"] == "secret" and "Authorization" not in headers


def test_no_view_beside_the_program(tmp_path):
    program = tmp_path / "tranche"
    shutil.copy(TRANCHE, program)
    done = subprocess.run([program, "top", "-1"], capture_output=True, text=True, env=clean_environment(), check=False)
    assert done.returncode == 1
    assert f"start {tmp_path}/tranche-top" in done.stderr and "install it there" in done.stderr
