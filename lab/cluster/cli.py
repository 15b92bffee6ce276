"""lab/up, lab/down, lab/status, lab/kubectl, lab/load-image, lab/fault. Exit codes: 0 done, 1 refused or failed,
2 wrong usage; lab/kubectl: kubectl's own."""

import argparse
import os
import pathlib
import sys
import tarfile
import time

from . import faults, teardown, try_it
from . import settings as s
from .errors import LabError
from .lab import Lab, folder_of


def _parser(what: str, name_and_dir: bool = True) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"lab/{what.split()[0]}", description=what.split(" ", 1)[1])
    if name_and_dir:
        parser.add_argument("--name", default="dev", help="which lab [dev]")
        parser.add_argument("--dir", help=f"its folder [{s.BASE}/NAME]")
    return parser


def up(arguments: list[str]) -> None:
    parser = _parser("up Starts a real Kubernetes with simulated GPUs on this machine.")
    parser.add_argument(
        "--node",
        action="append",
        metavar="MACHINE[=NAME]",
        help="a node with this simulated machine: a name of sim/machines, a machine file, or `bare` for "
        "one without a GPU; may be repeated [l20]",
    )
    parser.add_argument("--plain", type=int, default=0, metavar="N", help="N more nodes, played by kwok")
    parser.add_argument(
        "--runtime",
        default="wrapper",
        help="how Pods get their GPU: wrapper (as NVIDIA's container runtime does) or cdi [wrapper]",
    )
    parser.add_argument("--topology-manager", default="none", metavar="POLICY", help="kubelet's [none]")
    parser.add_argument(
        "--cpu-manager",
        default="none",
        metavar="POLICY",
        help="kubelet's; with static, one processor is kept for the node itself [none]",
    )
    parser.add_argument(
        "--gates",
        default="",
        metavar="NAME=BOOL,...",
        help="feature gates of the API server, the controller manager, the scheduler and kubelet, or of one of them "
        "(kube-scheduler:NAME=BOOL) [their own]",
    )
    parser.add_argument("--cidr", default="10.244.0.0/16", help="the Pods' network [10.244.0.0/16]")
    parser.add_argument(
        "--node-status",
        default="",
        metavar="DURATION",
        help="how often kubelet writes the node's status, such as 1s [kubelet's default]",
    )
    options = parser.parse_args(arguments)
    begin = time.monotonic()
    lab = Lab.up(
        options.name,
        options.node or ["l20"],
        folder=options.dir,
        say=lambda text: print(f"lab: {text}", flush=True),
        plain=options.plain,
        runtime=options.runtime,
        topology_manager=options.topology_manager,
        cpu_manager=options.cpu_manager,
        pod_network=options.cidr,
        gates=s.parse_gates(options.gates),
        node_status=options.node_status,
    )
    print(f"lab: {len(lab.nodes) + options.plain} nodes Ready after {time.monotonic() - begin:.0f} s\n")
    print(table(lab))
    print(reach(lab, options))


def table(lab: Lab) -> str:
    """The nodes; of plain ones only their number."""
    plain = lab.settings.plain_names()
    if len(plain) <= 20:
        return lab.kubectl("get", "nodes").rstrip()
    own = lab.kubectl("get", "nodes", *(node.name for node in lab.nodes)).rstrip()
    return f"{own}\nand {len(plain)} plain nodes, {plain[0]} to {plain[-1]}"


def reach(lab: Lab, options: argparse.Namespace) -> str:
    """How to use it, in commands that can be copied."""
    which = f" --dir {options.dir} --name {options.name}" if options.dir else f" --name {options.name}"
    which = "" if which == " --name dev" else which
    return f"""
  export KUBECONFIG={lab.kubeconfig} PATH={lab.settings.programs}:$PATH
  kubectl get pods -A
  kubectl run hello --image=lab-static:1 --restart=Never -- echo hello
  kubectl logs hello
  lab/down{which}

Images: lab-static:1 (busybox), lab-glibc:1 (a shell, the C library, tranche-load), tranche:lab (the agent)."""


def down(arguments: list[str]) -> None:
    parser = _parser("down Takes a lab away, with everything it made; also what a killed one left.")
    options = parser.parse_args(arguments)
    if os.geteuid() != 0:
        raise LabError("a lab is taken down by root", "run it with sudo, or as root")
    folder = folder_of(options.name, options.dir)
    if not teardown.exists(options.name, folder):
        print(f"lab: there is no lab {options.name}")
        return
    teardown.take_down(options.name, folder)
    print(f"lab: {options.name} is gone")


def status(arguments: list[str]) -> int:
    parser = _parser("status Tells what of a lab runs; exit code 1 when something does not.")
    options = parser.parse_args(arguments)
    lab = Lab.find(options.name, options.dir)
    dead = 0
    for place, programs in lab.status().items():
        if not programs:
            print(f"{place}: does not answer")
            dead += 1
        for name, program in programs.items():
            ended = program["exit"] is not None
            dead += ended
            state = f"ended with {program['exit']}" if ended else "running"
            print(f"{place:12} {name:24} {state}")
    print(f"\nexport KUBECONFIG={lab.kubeconfig}")
    return 1 if dead else 0


def kubectl(arguments: list[str]) -> None:
    """lab/kubectl [--name NAME | --dir DIR] ARGUMENTS..."""
    name, folder = "dev", None
    while arguments and arguments[0] in ("--name", "--dir"):
        if len(arguments) < 2:
            raise LabError(f"{arguments[0]} needs a value")
        if arguments[0] == "--name":
            name = arguments[1]
        else:
            folder = arguments[1]
        arguments = arguments[2:]
    lab = Lab.find(name, folder)
    program = str(lab.program("kubectl"))
    os.execv(program, [program, "--kubeconfig", str(lab.kubeconfig), *arguments])


def load_image(arguments: list[str]) -> None:
    parser = _parser("load-image Brings an image, or the images that a manifest names, into a lab.")
    parser.add_argument(
        "file",
        type=pathlib.Path,
        metavar="FILE",
        help="a docker archive (docker save, deploy/image/build): it is imported on the nodes, as `ctr images "
        "import` does; or a manifest: the lab's registry then has lab-glibc under every name in it",
    )
    parser.add_argument("node", nargs="*", metavar="NODE", help="where an archive is imported [every node]")
    options = parser.parse_args(arguments)
    lab = Lab.find(options.name, options.dir)
    try:
        is_archive = tarfile.is_tarfile(options.file)
        text = "" if is_archive else options.file.read_text()
    except OSError as error:
        raise LabError(f"{options.file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise LabError(f"{options.file} is neither a docker archive nor a manifest") from error
    if is_archive:
        lab.load_archive(options.file, options.node or None)
        print(f"lab: {options.file.name} is on {', '.join(options.node or [node.name for node in lab.nodes])}")
        return
    if options.node:
        raise LabError("a manifest's images are in the registry, for every node", "leave the nodes out")
    for name in lab.load_images(text):
        print(f"lab: {name}")


def fault(arguments: list[str]) -> None:
    parser = _parser("fault Makes a GPU of a node fail, or makes it whole again.")
    options = faults.parse(parser, arguments)
    lab = Lab.find(options.name, options.dir)
    node = lab.node(options.node)
    if not node.has_gpu:
        raise LabError(f"node {node.name} has no GPU")
    done = node.try_sim(*faults.command(options))
    if done.code != 0:
        raise LabError(done.err.strip() or f"tranche-sim ended with {done.code}")
    print(done.out.rstrip() or f"lab: {node.name}: {faults.describe(options)}")


def try_sharing(arguments: list[str]) -> None:
    parser = _parser("try Starts a lab with one GPU that Pods share, for `make lab`.", name_and_dir=False)
    parser.add_argument("--name", default="dev", help="which lab [dev]")
    try_it.run(parser.parse_args(arguments).name)


_COMMANDS = {
    "up": up,
    "down": down,
    "status": status,
    "kubectl": kubectl,
    "load-image": load_image,
    "fault": fault,
    "try": try_sharing,
}


def main(command: str) -> None:
    try:
        code = _COMMANDS[command](sys.argv[1:])
    except LabError as error:
        print(f"lab/{command}: {error.message()}", file=sys.stderr)
        code = 1
    except KeyboardInterrupt:
        print(f"lab/{command}: interrupted", file=sys.stderr)
        code = 130
    raise SystemExit(code or 0)
