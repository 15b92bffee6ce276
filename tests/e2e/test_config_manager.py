"""config-manager's part: the link follows the node's label, and the reader is signalled."""

import os
import sys

import pytest

from node import GPU, Node, Volume, sharing
from programs import Process, wait_until

LABEL = "nvidia.com/device-plugin.config"


class Sidecar:
    """What the chart runs next to the plugin: its folders, its flags, the node's labels in a
    file."""

    def __init__(self, here: Node, data: dict, label: str | None = None):
        self.node = here
        self.volume = Volume(here.dir / "available-configs", data)
        self.labels = here.dir / "labels"
        self.link = here.dir / "config.yaml"
        self.set_label(label)

    def set_label(self, value: str | None) -> None:
        text = "kubernetes.io/os=linux\n" + (f"{LABEL}={value}\n" if value is not None else "")
        fresh = self.labels.with_suffix(".new")
        fresh.write_text(text)
        os.rename(fresh, self.labels)

    def start(self, *arguments: str, signalled: str | None = None) -> Process:
        return self.node.start(
            f"--config-file-srcdir={self.volume.path}",
            f"--config-file-dst={self.link}",
            *(
                ["--send-signal=false"]
                if signalled is None
                else [f"--process-to-signal={signalled}"]
            ),
            *arguments,
            argv0="config-manager",
            env={"NODE_NAME": "n1", "TRANCHE_NODE_LABELS_FILE": self.labels},
        )

    def points_at(self, name: str) -> bool:
        return os.path.islink(self.link) and os.readlink(self.link) == f"{self.volume.path}/{name}"


@pytest.mark.difference("manager-label-first")
def test_once(node):
    for label, flags, chosen in (
        ("b", [], "b"),
        (None, ["--default-config=a"], "a"),
        ("b", ["--default-config=a"], "b"),
        (None, ["--fallback-strategies=named,single"], "default"),
        ("", ["--fallback-strategies=named"], "default"),
    ):
        here = node("l20", kubelet=False)
        sidecar = Sidecar(here, {"a": "", "b": "", "default": ""}, label)
        run = sidecar.start("--oneshot", *flags)
        assert run.wait() == 0, run.log
        assert sidecar.points_at(chosen)


def test_once_and_nothing_to_choose(node):
    for label, flags, why in (
        ("c", [], "specified config c does not exist; there are a, b"),
        (None, [], "no config was set, no default was provided, and all fallbacks failed"),
        (None, ["--default-config=c"], "default c: specified config c does not exist"),
        (None, ["--fallback-strategies=first"], "unknown fallback strategy: first"),
    ):
        here = node("l20", kubelet=False)
        sidecar = Sidecar(here, {"a": "", "b": ""}, label)
        run = sidecar.start("--oneshot", *flags)
        assert run.wait() == 1
        assert why in run.log
        assert not sidecar.link.is_symlink()


def test_empty_is_a_configuration(node):
    sidecar = Sidecar(node("l20", kubelet=False), {"a": "", "b": ""})
    assert sidecar.start("--oneshot", "--fallback-strategies=single,empty").wait() == 0
    assert os.readlink(sidecar.link) == "/dev/null"


def test_required_settings(node):
    here = node("l20", kubelet=False)
    run = here.start("--oneshot", argv0="config-manager")
    assert run.wait() == 1
    for flag in ("node-name", "config-file-srcdir", "config-file-dst"):
        assert f"invalid <{flag}>: must not be empty string" in run.log


@pytest.mark.difference("manager-unknown-name", "manager-content")
def test_the_link_follows_label_and_content_and_the_reader_is_signalled(node):
    here = node("l20", kubelet=False)
    sidecar = Sidecar(here, {"a": "1", "b": "2"}, "a")
    # A process with the chart's name that counts its signals.
    name = f"reader-{here.dir.name}"
    count = (
        "import signal\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "    signal.sigwait({signal.SIGHUP})\n"
        "    print('hup', flush=True)\n"
    )
    reader = Process([name, "-c", count], here.dir / "reader", here.env, executable=sys.executable)
    try:
        wait_until(lambda: "ready" in reader.output, "the reader")
        manager = sidecar.start(signalled=name)
        wait_until(lambda: reader.output.count("hup") == 1, "a signal for the first link")
        assert sidecar.points_at("a")
        sidecar.set_label("b")
        wait_until(lambda: reader.output.count("hup") == 2, "a signal for the label")
        assert sidecar.points_at("b")
        sidecar.volume.put({"a": "1", "b": "3"})
        wait_until(lambda: reader.output.count("hup") == 3, "a signal for the content")
        # A label that names nothing keeps what is in force; theirs exits.
        sidecar.set_label("x")
        manager.wait_log("specified config x does not exist.*what is in force stays")
        assert sidecar.points_at("b")
        sidecar.set_label("a")
        wait_until(lambda: reader.output.count("hup") == 4, "a signal for the label")
        assert sidecar.points_at("a")
        assert manager.stop() == 0
    finally:
        reader.kill()


def test_nobody_to_signal(node):
    sidecar = Sidecar(node("l20", kubelet=False), {"a": ""}, "a")
    run = sidecar.start("--oneshot", signalled="nobody-is-called-so")
    assert run.wait() == 1
    assert "nobody-is-called-so" in run.log
    assert sidecar.points_at("a")


def test_it_drives_an_agent(node):
    """The two containers of the chart's Pod."""
    here = node("l20")
    sidecar = Sidecar(here, {"two": sharing(2), "five": sharing(5)}, "two")
    assert sidecar.start("--oneshot").wait() == 0
    sidecar.start()  # the agent sees by itself what the signal would tell it
    agent = here.agent(f"--config-file={sidecar.link}")
    here.kubelet.wait(GPU, allocatable=2)
    sidecar.set_label("five")
    here.kubelet.wait(GPU, allocatable=5)
    sidecar.volume.put({"two": sharing(2), "five": sharing(3)})
    here.kubelet.wait(GPU, allocatable=3)
    assert agent.stop() == 0


def test_without_a_way_to_read_the_label(node):
    here = node("l20", kubelet=False)
    run = here.start(
        "--oneshot",
        "--node-name=n1",
        "--config-file-srcdir=/x",
        "--config-file-dst=/y",
        argv0="config-manager",
    )
    assert run.wait() == 1
    assert "the label nvidia.com/device-plugin.config of this node cannot be read" in run.log
    assert "name a kubeconfig file" in run.log
