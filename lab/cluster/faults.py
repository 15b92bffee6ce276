"""The faults of `lab/fault`, in tranche-sim's words."""

import argparse

# fault: (what VALUE is; empty: none, whether it concerns one GPU, what happens)
_FAULTS = {
    "xid": ("N", True, "the driver reports XID N of the GPU"),
    "lost": ("", True, "the GPU falls off the bus: XID 79, and every call about it fails"),
    "gone": ("", True, "the GPU is not there any more: one fewer is counted"),
    "back": ("", True, "a lost or gone GPU is there again"),
    "nvlink": ("", True, "the GPU's NVLinks are down"),
    "recovery": ("ACTION", True, "the driver asks for ACTION: gpu-reset, node-reboot, ..., none"),
    "hang": ("", True, "calls about the GPU do not return"),
    "no-driver": ("", False, "the driver is gone"),
    "driver-back": ("", False, "the driver is there again"),
    "reset": ("", True, "the GPU is reset, as by nvidia-smi --gpu-reset"),
    "clear": ("", False, "removes all faults of the node"),
    "show": ("", False, "shows the node's machine, with its faults"),
}


def parser(base: argparse.ArgumentParser) -> argparse.ArgumentParser:
    base.formatter_class = argparse.RawDescriptionHelpFormatter
    lines = [f"  {name + (' ' + value if value else ''):18} {what}" for name, (value, _, what) in _FAULTS.items()]
    base.epilog = "faults:\n" + "\n".join(lines) + "\n\n  lab/fault l20 xid 79\n  lab/fault l20 clear"
    base.add_argument("node", metavar="NODE", help="a node of the lab: lab/kubectl get nodes")
    base.add_argument("fault", metavar="FAULT", choices=list(_FAULTS), help="see below")
    base.add_argument("value", nargs="?", metavar="VALUE", help="of `xid` and `recovery`")
    base.add_argument("--gpu", metavar="G", help="index, UUID or PCI address [0]")
    return base


def parse(base: argparse.ArgumentParser, arguments: list[str]) -> argparse.Namespace:
    """The parsed command line; if it is wrong, the usage and exit code 2."""
    made = parser(base)
    options = made.parse_args(arguments)
    value, of_gpu, _ = _FAULTS[options.fault]
    if value and options.value is None:
        made.error(f"{options.fault} needs {value}")
    if not value and options.value is not None:
        made.error(f"{options.fault} takes no {options.value!r}")
    if options.fault == "xid" and not options.value.isdecimal():
        made.error(f"xid needs a number, not {options.value!r}")
    if options.gpu is not None and not of_gpu:
        made.error(f"{options.fault} concerns the whole node: leave --gpu out")
    options.gpu = options.gpu or "0"
    return options


def command(options: argparse.Namespace) -> list[str]:
    """tranche-sim's arguments."""
    gpu = ["--gpu", options.gpu] if _FAULTS[options.fault][1] else []
    match options.fault:
        case "xid":
            return ["xid", *gpu, "--xid", options.value]
        case "hang":
            return ["fault", "hang", "--function", "*", *gpu]
        case "recovery":
            return ["fault", "recovery", *gpu, options.value]
        case "clear" | "show" | "reset":
            return [options.fault, *gpu]
        case fault:
            return ["fault", fault, *gpu]


def describe(options: argparse.Namespace) -> str:
    """What has happened, for people."""
    value, of_gpu, _ = _FAULTS[options.fault]
    words = [options.fault, options.value or "", f"of GPU {options.gpu}" if of_gpu else ""]
    return " ".join(word for word in words if word)
