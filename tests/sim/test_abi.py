"""Our declarations of NVML's binary interface match NVIDIA's nvml.h."""

import importlib.util
import pathlib
import re
import subprocess

import simulated

ABI = simulated.ROOT / "sim" / "nvml" / "abi.h"

# Names of structures in nvml.h whose versions our struct_version<>() computes.
VERSIONED = {
    "nvmlMemory_v2_t": ("nvmlMemory_v2", 2),
    "nvmlGpuInstanceProfileInfo_v2_t": ("nvmlGpuInstanceProfileInfo_v2", 2),
    "nvmlGpuInstanceProfileInfo_v3_t": ("nvmlGpuInstanceProfileInfo_v3", 3),
    "nvmlComputeInstanceProfileInfo_v2_t": ("nvmlComputeInstanceProfileInfo_v2", 2),
    "nvmlComputeInstanceProfileInfo_v3_t": ("nvmlComputeInstanceProfileInfo_v3", 3),
    "nvmlDeviceAddressingMode_v1_t": ("nvmlDeviceAddressingMode_v1", 1),
    "nvmlGpuFabricInfo_v2_t": ("nvmlGpuFabricInfo_v2", 2),
    "nvmlGpuFabricInfo_v3_t": ("nvmlGpuFabricInfo_v3", 3),
    "nvmlProcessesUtilizationInfo_v1_t": ("nvmlProcessesUtilizationInfo_v1", 1),
    "nvmlProcessDetailList_v1_t": ("nvmlProcessDetailList_v1", 1),
}


def nvml_header() -> pathlib.Path:
    package = importlib.util.find_spec("nvidia")
    assert package is not None and package.submodule_search_locations, "nvidia-nvml-dev is missing"
    for place in package.submodule_search_locations:
        for header in pathlib.Path(place).glob("*/include/nvml.h"):
            return header
    raise AssertionError("nvml.h is not in the package")


def our_structures() -> dict[str, list[str]]:
    """Name -> fields, read from abi.h."""
    found = {}
    for match in re.finditer(r"^(?:struct|union) (nvml\w+) \{\n(.*?)^\};", ABI.read_text(), re.S | re.M):
        found[match[1]] = re.findall(r"(\w+)(?:\[\w+\])?;", match[2])
    return found


def our_constants() -> list[str]:
    text = ABI.read_text()
    enumerators = re.findall(r"^  (NVML_\w+) = ", text, re.M)
    constants = re.findall(r"^inline constexpr [\w ]+ (\w+)(?: =|\n)", text, re.M)
    return enumerators + [name for name in constants if name.startswith(("NVML_", "nvmlEvent"))]


def test_layouts_versions_and_constants(tmp_path):
    """One C++ file of static assertions, theirs against ours."""
    structures = our_structures()
    constants = our_constants()
    assert len(structures) > 25
    assert {"NVML_ERROR_GPU_IS_LOST", "nvmlEventTypeXidCriticalError"} <= set(constants)
    # Theirs are partly macros: their values are kept under other names before ours are included.
    text = [f'#include "{nvml_header()}"', "#include <cstddef>"]
    text += [f"constexpr long long their_{name} = (long long)({name});" for name in constants]
    text += [f"constexpr unsigned their_{word} = {word};" for word, _ in VERSIONED.values()]
    text += [f"#undef {name}" for name in constants]
    text += [f'#include "{ABI}"', "namespace ours = tranche::sim::abi;"]
    for name, fields in structures.items():
        text.append(f'static_assert(sizeof(::{name}) == sizeof(ours::{name}), "{name}");')
        for field in fields:
            text.append(
                f"static_assert(offsetof(::{name}, {field}) == offsetof(ours::{name}, {field}));"
            )
    for name in constants:
        text.append(f"static_assert((long long)(ours::{name}) == their_{name});")
    for structure, (word, version) in VERSIONED.items():
        text.append(f"static_assert(ours::struct_version<ours::{structure}>({version}) == their_{word});")
    source = tmp_path / "layout.cpp"
    source.write_text("\n".join(text) + "\n")
    done = subprocess.run(
        ["g++", "-std=c++23", "-fsyntax-only", "-w", str(source)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[:4000]


def exported() -> list[str]:
    library = simulated.build_folder() / "sim" / "libnvidia-ml.so.1"
    out = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True
    ).stdout
    return [line.split()[-1] for line in out.splitlines() if line.strip()]


def test_only_nvml_leaves_the_library():
    names = exported()
    assert len(names) > 90
    assert all(name.startswith("nvml") for name in names), names


def test_every_export_is_declared_by_nvidia():
    header = nvml_header().read_text()
    unknown = [name for name in exported() if not re.search(rf"\b{name}\b", header)]
    assert not unknown


def test_what_plugin_and_feature_discovery_call_is_there():
    wanted = """
        nvmlInit_v2 nvmlInitWithFlags nvmlShutdown nvmlErrorString nvmlSystemGetDriverVersion
        nvmlSystemGetCudaDriverVersion nvmlSystemGetCudaDriverVersion_v2 nvmlDeviceGetCount_v2
        nvmlDeviceGetHandleByIndex_v2 nvmlDeviceGetHandleByUUID nvmlDeviceGetName nvmlDeviceGetUUID
        nvmlDeviceGetIndex nvmlDeviceGetMinorNumber nvmlDeviceGetPciInfo_v3 nvmlDeviceGetMemoryInfo
        nvmlDeviceGetCudaComputeCapability nvmlDeviceGetMigMode nvmlDeviceGetMaxMigDeviceCount
        nvmlDeviceGetMigDeviceHandleByIndex nvmlDeviceIsMigDeviceHandle
        nvmlDeviceGetDeviceHandleFromMigDeviceHandle nvmlDeviceGetGpuInstanceId
        nvmlDeviceGetComputeInstanceId nvmlDeviceGetAttributes_v2 nvmlDeviceGetGpuInstanceById
        nvmlGpuInstanceGetInfo nvmlGpuInstanceGetComputeInstanceById nvmlComputeInstanceGetInfo_v2
        nvmlDeviceGetGpuInstanceProfileInfo nvmlGpuInstanceGetComputeInstanceProfileInfo
        nvmlDeviceGetTopologyCommonAncestor nvmlDeviceGetNvLinkState
        nvmlDeviceGetNvLinkRemotePciInfo_v2 nvmlDeviceGetGpuFabricInfo nvmlDeviceGetGpuFabricInfoV
        nvmlEventSetCreate nvmlEventSetFree nvmlEventSetWait_v2 nvmlDeviceRegisterEvents
        nvmlDeviceGetSupportedEventTypes
    """.split()
    assert len(wanted) == 41
    assert not set(wanted) - set(exported())
