#!/usr/bin/env python3
"""Measures a whole agent on a simulated node: start to registration, memory, how soon a changed
configuration reaches kubelet, labels once, Allocate over the socket, idle CPU.

Simulated hardware (with --real this machine's own GPUs) and a kubelet stand-in; the agent and its
gRPC are real. Compare figures of one run with each other. With --peer PATH also NVIDIA's plugin (a
binary of yours) is measured, in turn with ours, over the same NVML.

    tests/bench/node.py [--build build] [--runs 7] [--peer PATH] [--idle 20] [--real]
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def config(replicas):
    return (
        "version: v1\nsharing:\n  timeSlicing:\n    resources:\n"
        f"    - {{name: nvidia.com/gpu, replicas: {replicas}}}\n"
    )


class Node:
    """A folder, a kubelet stand-in and the environment of an 8-GPU machine, or of this one."""

    gpus = 8
    real = False

    def __init__(self, build):
        self.build = build
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="tb"))
        self.config = self.dir / "config.yaml"
        self.env = dict(os.environ)
        if not self.real:
            self.simulate("a100-80gb-x8")
        self.kubelet = subprocess.Popen(
            [build / "bin/tranche-lab-kubelet", "--kubelet-root", self.dir / "k"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.kubelet.stdout.readline()
        self.agent = None

    def simulate(self, machine):
        self.env.update(
            TRANCHE_SIM=str(ROOT / f"sim/machines/{machine}.yaml"),
            TRANCHE_SIM_STATE=str(self.dir / "state"),
            LD_LIBRARY_PATH=str(self.build / "sim"),
        )
        # The machine's state is made once, as on a real machine the driver is there already.
        subprocess.run(
            [self.build / "bin/tranche-sim", "show"], env=self.env, check=True,
            stdout=subprocess.DEVNULL,
        )

    def op(self, **request):
        self.kubelet.stdin.write(json.dumps(request) + "\n")
        self.kubelet.stdin.flush()
        answer = json.loads(self.kubelet.stdout.readline())
        if not answer["ok"]:
            raise RuntimeError(answer)
        return answer

    def start(self, command):
        begin = time.time()
        self.agent = subprocess.Popen(command, env=self.env, stderr=subprocess.DEVNULL)
        self.op(op="wait", resource="nvidia.com/gpu", registrations=1, timeout_s=30)
        registered = self.op(op="registrations")["registrations"][-1]["time"]
        return 1000 * (registered - begin)

    def start_ours(self):
        return self.start(
            [self.build / "bin/tranche", "agent", f"--config-file={self.config}",
             f"--kubelet-root={self.dir / 'k'}", f"--state-dir={self.dir / 's'}", "--labels=false"]
        )

    def wait_allocatable(self, count):
        self.op(op="wait", resource="nvidia.com/gpu", allocatable=count, timeout_s=30)

    def change_ms(self, replicas):
        # Replaced as kubelet replaces a ConfigMap's files: one that is written in place is read a
        # second after its last change.
        new = self.dir / "config.new"
        new.write_text(config(replicas))
        begin = time.time()
        new.replace(self.config)
        self.wait_allocatable(self.gpus * replicas)
        return 1000 * (time.time() - begin)

    def rss_mb(self):
        status = pathlib.Path(f"/proc/{self.agent.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1000

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.agent.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def allocate(self, calls=3000):
        socket = self.dir / "k/device-plugins/nvidia-gpu.sock"
        out = subprocess.run(
            [self.build / "bench/allocate_latency", socket, str(calls)],
            check=True, capture_output=True, text=True,
        ).stdout
        return json.loads(out)

    def close(self):
        if self.agent:
            self.agent.terminate()
            self.agent.wait(10)
        self.kubelet.stdin.close()
        self.kubelet.wait(10)
        shutil.rmtree(self.dir, ignore_errors=True)


def spread(values, unit):
    return (
        f"median {statistics.median(values):.1f} {unit}, "
        f"min {min(values):.1f}, max {max(values):.1f}, {len(values)} runs"
    )


def measure_starts(build, runs):
    starts, memory = [], []
    for _ in range(runs):
        node = Node(build)
        node.config.write_text("version: v1\n")
        starts.append(node.start_ours())
        node.wait_allocatable(Node.gpus)
        memory.append(node.rss_mb())
        node.close()
    print(f"start to Register received, {Node.gpus} GPUs:", spread(starts, "ms"))
    print("resident memory after registration:", spread(memory, "MB"))


def measure_life(build, runs, idle):
    node = Node(build)
    node.config.write_text("version: v1\n")
    node.start_ours()
    node.wait_allocatable(Node.gpus)
    plain = node.allocate()
    changes = [node.change_ms(2 + i % 7) for i in range(runs)]
    node.change_ms(48)
    many = node.allocate()
    print("changed configuration to kubelet:", spread(changes, "ms"))
    print(f"Allocate, {node.gpus} devices:   ", plain)
    print(f"Allocate, {node.gpus} x 48:      ", many, f"ratio p50 {many['p50_us'] / plain['p50_us']:.2f}")
    tranches = 48 * node.gpus
    print(f"resident memory after {2 * 3300} Allocate calls, {tranches} tranches: {node.rss_mb():.1f} MB")
    before = node.cpu_seconds()
    time.sleep(idle)
    print(f"idle CPU over {idle} s: {100 * (node.cpu_seconds() - before) / idle:.3f} %")
    node.close()


def measure_labels(build, runs):
    node = Node(build)
    times = []
    for _ in range(runs):
        begin = time.time()
        subprocess.run(
            [build / "bin/tranche", "labels", "--oneshot", "--use-node-feature-api=false",
             f"--output-file={node.dir / 'features'}"],
            env=node.env, check=True, stderr=subprocess.DEVNULL,
        )
        times.append(1000 * (time.time() - begin))
    print(f"labels once, {Node.gpus} GPUs, whole process:", spread(times, "ms"))
    node.close()


def measure_peer(build, peer, runs):
    """In turn, ours and theirs. The peer serves in the constant folder /var/lib/kubelet: a mount
    namespace of its own gives it that."""
    for replicas in (1, 10):
        rows = {"ours": [], "peer": []}
        for _ in range(runs):
            for who in rows:
                node = Node(build)
                node.config.write_text(config(replicas) if replicas > 1 else "version: v1\n")
                if who == "ours":
                    start = node.start_ours()
                else:
                    inner = (
                        f"mkdir -p /var/lib/kubelet/device-plugins && mount --bind "
                        f"{node.dir}/k/device-plugins /var/lib/kubelet/device-plugins && "
                        f"exec {peer} --config-file={node.config}"
                    )
                    start = node.start(["unshare", "-m", "sh", "-c", inner])
                node.wait_allocatable(Node.gpus * replicas)
                figures = node.allocate()
                rows[who].append((figures["p50_us"], figures["p99_us"], start, node.rss_mb()))
                node.close()
        for who, values in rows.items():
            p50, p99, start, rss = (statistics.median(v) for v in zip(*values))
            print(
                f"{Node.gpus * replicas:4d} tranches, {who}: Allocate p50 {p50:.0f} us, p99 {p99:.0f} us, "
                f"start {start:.1f} ms, resident {rss:.1f} MB (medians of {runs})"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--idle", type=float, default=20)
    parser.add_argument("--peer", type=pathlib.Path)
    parser.add_argument("--real", action="store_true", help="this machine's GPUs, by nvidia-smi")
    arguments = parser.parse_args()
    if arguments.real:
        listed = subprocess.run(["nvidia-smi", "-L"], check=True, capture_output=True, text=True)
        Node.real, Node.gpus = True, len(listed.stdout.splitlines())
    build = arguments.build.resolve()
    measure_starts(build, arguments.runs)
    measure_life(build, arguments.runs, arguments.idle)
    measure_labels(build, arguments.runs)
    if arguments.peer:
        measure_peer(build, arguments.peer.resolve(), arguments.runs)


if __name__ == "__main__":
    main()
