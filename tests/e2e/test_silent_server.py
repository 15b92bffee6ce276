"""At a start an API server that has not answered yet is no news; one that fails is."""

import subprocess
import threading

import pytest
from loopback import LoopbackServer
from node import Volume
from programs import TRANCHE, clean_environment, wait_until

PHRASE = "has not answered yet"


class SilentServer:
    """Holds every request until `answer` is set, then fails it."""

    def __init__(self):
        self.asked = threading.Event()
        self.answer = threading.Event()

        def fail(_):
            self.asked.set()
            self.answer.wait()
            return 503, b"not today"

        self._server = LoopbackServer(fail, "text/plain")

    def kubeconfig(self, folder) -> str:
        file = folder / "kubeconfig"
        file.write_text(
            "current-context: c\n"
            "contexts: [{name: c, context: {cluster: c}}]\n"
            f"clusters: [{{name: c, cluster: {{server: '{self._server.url}'}}}}]\n"
        )
        return str(file)

    def close(self):
        self.answer.set()
        self._server.close()


@pytest.fixture
def server():
    silent = SilentServer()
    yield silent
    silent.close()


def test_the_agent_waits_without_a_word(node, server):
    here = node("l20")
    run = here.agent(
        f"--kubeconfig={server.kubeconfig(here.dir)}", "--config-map=default/configs", env={"NODE_NAME": "n1"}
    )

    def state():
        check = [TRANCHE, "agent", "--check=live", f"--state-dir={here.state}"]
        return subprocess.run(check, env=clean_environment(), capture_output=True, text=True, check=False).stdout

    wait_until(lambda: server.asked.is_set() and PHRASE in state(), "the agent waits, and tells a probe so")
    assert PHRASE not in run.log
    server.answer.set()
    run.wait_log("not today|503")
    assert PHRASE not in run.log


def test_the_config_manager_waits_without_a_word(node, server):
    here = node("l20", kubelet=False)
    volume = Volume(here.dir / "available-configs", {"a": ""})
    run = here.start(
        f"--config-file-srcdir={volume.path}",
        f"--config-file-dst={here.dir / 'config.yaml'}",
        f"--kubeconfig={server.kubeconfig(here.dir)}",
        argv0="config-manager",
        env={"NODE_NAME": "n1"},
    )
    wait_until(server.asked.is_set, "it asks for its node")
    server.answer.set()
    # It asks five times first, each time later.
    wait_until(lambda: "waiting for it" in run.log, "it says what it waits for", deadline=120)
    assert PHRASE not in run.log
