#!/usr/bin/env python3
"""Makes src/container/interpose/symbols.def: the driver's symbols that the limiter stands before, with their binary interface.

    tools/cuda_hooks.py INCLUDE_FOLDER > src/container/interpose/symbols.def

INCLUDE_FOLDER holds NVIDIA's cudaTypedefs.h (Python package nvidia-cuda-runtime, pinned in tests/requirements.txt;
a test compares). Taken from it are names, numbers and what machine type each parameter has; hooks.def says which
functions, and what is to be done with each. A pointer of any kind is `void*`, an enumeration is `unsigned`.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
HEAD = """\
// The driver's symbols that the limiter stands before, made by tools/cuda_hooks.py.
//   OWN(symbol, name, version, twin, (parameters))      a function of its own in this folder
//   GATED(symbol, name, version, twin, stream, (parameters), (arguments))    work: passes the gate
//   LOADS(symbol, name, version, twin, (parameters), (arguments))   takes memory that NVML alone sees
//   LATER(symbol, name, version, twin, (parameters), (arguments))   waits: what has ended is measured
//   HOLDS(symbol, name, version, twin, stream, (parameters), (arguments))   has the stream wait: the same, in it
// `symbol` is the interface of `name` since CUDA `version`; twin 1: stream 0 is the thread's own.
"""
KINDS = {
    "kLookup": "OWN", "kAlloc": "OWN", "kFree": "OWN", "kLaunch": "OWN", "kContext": "OWN", "kView": "OWN",
    "kCapture": "OWN", "kGraph": "OWN", "kStream": "OWN", "kCopy": "GATED", "kCode": "LOADS", "kWait": "LATER",
    "kStreamWait": "HOLDS",
}  # fmt: skip
# Not before these: their memory is another's, or the host's, or nothing is to be done.
PASSED = {"kImport", "kHostMemory", "kPass"}
UNHOOKED = {
    "cuCtxAttach", "cuCtxDetach", "cuCtxFromGreenCtx", "cuGreenCtxCreate", "cuGreenCtxDestroy", "cuGraphExecUpdate",
    "cuGraphAddNode", "cuGraphAddChildGraphNode", "cuGraphAddMemFreeNode", "cuGraphAddMemAllocNode",
    "cuDeviceGetProperties", "cuStreamBeginCaptureToCig", "cuStreamEndCaptureToCig",
}  # fmt: skip
# Of the first CUDA, still exported, and without a type in the header: (name, twin, version) -> parameters.
FIRST = {
    ("cuLaunch", "", 2000): ["CUfunction f"],
    ("cuLaunchGrid", "", 2000): ["CUfunction f", "int grid_width", "int grid_height"],
    ("cuLaunchGridAsync", "", 2000): ["CUfunction f", "int grid_width", "int grid_height", "CUstream hStream"],
}
# An interface that its header reaches by another name.
ALIASES = {"cuGraphInstantiateWithFlags": "cuGraphInstantiate"}
HANDLES = {"CUstream", "CUcontext", "CUevent", "CUgraph", "CUgraphExec", "CUgraphNode", "CUfunction", "CUarray",
           "CUmipmappedArray", "CUmodule", "CUlibrary", "CUmemoryPool", "CUkernel", "CUgreenCtx", "CUdevResourceDesc", "CUgraphRecaptureCallback",
           "CUhostFn", "CUstreamCallback"}  # fmt: skip
PLAIN = {
    "CUdeviceptr": "CUdeviceptr", "CUdeviceptr_v2": "CUdeviceptr", "CUdeviceptr_v1": "unsigned", "size_t": "size_t",
    "unsigned int": "unsigned", "int": "int", "CUdevice": "int", "CUdevice_v1": "int", "unsigned char": "unsigned char",
    "unsigned short": "unsigned short", "unsigned long long": "std::uint64_t", "cuuint64_t": "std::uint64_t",
    "cuuint32_t": "unsigned", "CUmemGenericAllocationHandle": "std::uint64_t", "CUmemGenericAllocationHandle_v1": "std::uint64_t",
    "CUmemLocation": "Location", "CUmemLocation_v1": "Location", "CUstreamCaptureMode": "unsigned",
    "CUmemAllocationHandleType": "unsigned", "CUlimit": "unsigned", "CUlogicalEndpointId": "unsigned",
    "CUmemAllocationType": "unsigned",
}  # fmt: skip


def machine_type(text: str) -> str:
    text = re.sub(r"\bstruct \b|\bconst \b", "", text).strip()
    if "*" in text or "[" in text:
        return "void*"
    parts = text.split()
    base = " ".join(parts if text in PLAIN or len(parts) == 1 else parts[:-1])
    base = re.sub(r"(_v\d+)$", r"\1", base)
    if base in HANDLES or re.sub(r"_v\d+$", "", base) in HANDLES:
        return "void*"
    if base in PLAIN:
        return PLAIN[base]
    raise SystemExit(f"tools/cuda_hooks.py: what is a {base!r} (of {text!r})?")


def split(parameters: str) -> list[str]:
    return [p.strip() for p in parameters.split(",") if p.strip() and p.strip() != "void"]


def interfaces(include: pathlib.Path) -> dict[tuple[str, str, int], list[str]]:
    """(name, twin, version) -> parameters as written."""
    text = (include / "cudaTypedefs.h").read_text()
    found = re.findall(r"\(CUDAAPI \*PFN_(cu\w+?)_v(\d+)(_ptds|_ptsz)?\)\(([^;]*)\);", text)
    return FIRST | {(name, twin, int(version)): split(parameters) for name, version, twin, parameters in found}


def is_stream(parameter: str) -> bool:
    return bool(re.match(r"CUstream\b(?! *\*)", parameter))


def line(kind: str, symbol: str, name: str, version: int, twin: bool, written: list[str]) -> str:
    types = [machine_type(p) for p in written]
    parameters = ", ".join(f"{t} a{i}" for i, t in enumerate(types))
    arguments = ", ".join(f"a{i}" for i in range(len(types)))
    fields = [symbol, name, str(version), str(int(twin))]
    if kind == "OWN":
        return f"OWN({', '.join(fields)}, ({', '.join(types)}))"
    if kind in ("GATED", "HOLDS"):
        streams = [i for i, p in enumerate(written) if is_stream(p)]
        fields.append(f"a{streams[0]}" if streams else "nullptr")
    return f"{kind}({', '.join(fields)}, ({parameters}), ({arguments}))"


def table(include: pathlib.Path) -> str:
    classes = dict(re.findall(r"^HOOK\((\w+), (\w+)\)$", (ROOT / "src/container/interpose/hooks.def").read_text(), re.M))
    all_interfaces = interfaces(include)
    lines = []
    for name, twin, version in sorted(all_interfaces):
        kind = classes.get(ALIASES.get(name, name))
        if kind is None or kind in PASSED or name in UNHOOKED:
            continue
        legacy = sorted(v for n, t, v in all_interfaces if n == name and not t)
        own = sorted(v for n, t, v in all_interfaces if n == name and t == twin)
        number = sum(v <= version for v in legacy) if twin else own.index(version) + 1
        symbol = f"{name}{f'_v{number}' if number > 1 else ''}{twin}"
        lines.append(line(KINDS[kind], symbol, name, version, bool(twin), all_interfaces[name, twin, version]))
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.stdout.write(table(pathlib.Path(sys.argv[1])))
