"""Every function of the pinned cuda.h has a class in hooks.def, and none else."""

import importlib.util
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOOKS = ROOT / "src" / "container" / "interpose" / "hooks.def"
CLASSES = ROOT / "src" / "container" / "interpose" / "hook_class.h"


def cuda_header() -> str:
    package = importlib.util.find_spec("nvidia")
    assert package is not None and package.submodule_search_locations, "nvidia-cuda-runtime is missing"
    for place in package.submodule_search_locations:
        for header in pathlib.Path(place).glob("*/include/cuda.h"):
            return header.read_text()
    raise AssertionError("cuda.h is not in the package")


def base(name: str) -> str:
    """Without ABI version and per-thread-stream suffix."""
    return re.sub(r"(_v\d+)?(_ptsz|_ptds)?$", "", name)


def functions() -> set[str]:
    text = cuda_header()
    assert "#define CUDA_VERSION 13050" in text, "hooks.def says which header it was made for"
    return {base(name) for name in re.findall(r"CUresult CUDAAPI (cu\w+)", text)}


def hooks() -> list[tuple[str, str]]:
    return re.findall(r"^HOOK\((\w+), (\w+)\)$", HOOKS.read_text(), re.M)


def test_every_function_has_one_class():
    names = [name for name, _ in hooks()]
    assert len(names) == len(set(names)), "a function stands there twice"
    missing = functions() - set(names)
    assert not missing, f"functions of cuda.h without a class in hooks.def: {sorted(missing)}"
    unknown = set(names) - functions()
    assert not unknown, f"hooks.def names what cuda.h has not: {sorted(unknown)}"


def test_classes_are_known():
    known = set(re.findall(r"^  (k\w+),", CLASSES.read_text(), re.M))
    assert {name for _, name in hooks()} == known


def test_what_takes_memory_or_time_does_not_pass():
    """Words for allocation, launches and loading are never in kPass by oversight."""
    suspicious = re.compile(r"Alloc|Launch|Malloc|ArrayCreate|^cuMemCreate|ModuleLoad|LibraryLoad|^cuMemcpy|^cuMemset")
    harmless = {
        "cuDeviceGetHostAtomicCapabilities",
        "cuMemGetAllocationGranularity",
        "cuMemGetAllocationPropertiesFromHandle",
        "cuTensorMapSetAllocationClass",
        "cuModuleGetLoadingMode",
        "cuGraphMemAllocNodeGetParams",
    }
    passing = {name for name, kind in hooks() if kind == "kPass" and suspicious.search(name)}
    assert passing <= harmless, sorted(passing - harmless)
