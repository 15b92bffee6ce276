"""Our declarations of the CUDA driver's binary interface, and its table of functions, match
NVIDIA's cuda.h."""

import functools
import importlib.util
import pathlib
import re
import subprocess
import sys

import simulated
import pytest

sys.path.insert(0, str(simulated.ROOT / "tools"))
import cuda_functions  # noqa: E402

CUDA = simulated.ROOT / "sim" / "cuda"
HEADERS = ("abi.h", "abi_memory.h", "abi_graph.h")

# Ours if NVIDIA's has another name, or is the newest of several under a plain one.
THEIR_NAMES = {
    "CUDA_MEM_ALLOC_NODE_PARAMS_v1": "CUDA_MEM_ALLOC_NODE_PARAMS",
}


def include_folder() -> pathlib.Path:
    package = importlib.util.find_spec("nvidia")
    assert package is not None and package.submodule_search_locations
    for place in package.submodule_search_locations:
        for header in pathlib.Path(place).glob("cu*/include/cuda.h"):
            return header.parent
    raise AssertionError("nvidia-cuda-runtime is missing")


def our_text() -> str:
    return "\n".join((CUDA / name).read_text() for name in HEADERS)


def our_structures() -> dict[str, list[str]]:
    """Name -> fields of the structure itself (indented by two), read from our headers."""
    found = {}
    for match in re.finditer(r"^(?:struct|union) (\w+) \{\n(.*?)^\};", our_text(), re.S | re.M):
        body = re.sub(r"^    .*\n", "", match[2], flags=re.M)  # what is nested
        fields = re.findall(r"^  (?:\} |[\w:*<> ]+[ *&])(\w+)(?:\[\d+\])?;", body, re.M)
        found[match[1]] = fields
    return found


def our_constants() -> list[str]:
    text = our_text()
    return re.findall(r"\b(CU(?:DA)?_\w+) = \w+", text)


def compile_only(folder: pathlib.Path, lines: list[str]) -> None:
    source = folder / "check.cpp"
    source.write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        ["g++", "-std=c++23", "-fsyntax-only", "-w", f"-I{include_folder()}", f"-I{simulated.ROOT}",
         str(source)],
        capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stderr[:4000]


def test_layouts_and_constants(tmp_path):
    """Static assertions, theirs against ours."""
    structures = our_structures()
    constants = our_constants()
    assert len(structures) == len(re.findall(r"^(?:struct|union) \w+ \{", our_text(), re.M))
    assert len(structures) > 25
    assert len(constants) > 150
    macros = [name for name in constants if re.search(rf"#define {name}\b", header_text("cuda.h"))]
    text = ['#include "cuda.h"', "#include <cstddef>"]
    text += [f"constexpr long long their_{name} = (long long)({name});" for name in constants]
    text += [f"#undef {name}" for name in macros]
    text += [f'#include "sim/cuda/{header}"' for header in HEADERS]
    text.append("namespace ours = tranche::sim::cuda::abi;")
    for name, fields in structures.items():
        their = THEIR_NAMES.get(name, name)
        text.append(f'static_assert(sizeof(::{their}) == sizeof(ours::{name}), "{name}");')
        text.append(f'static_assert(alignof(::{their}) == alignof(ours::{name}), "{name}");')
        for field in fields:
            if (name, field) in {("CUlaunchAttributeValue", "pad"), ("CUmemLocation", "id")}:
                continue  # unions there
            text.append(
                f"static_assert(offsetof(::{their}, {field}) == offsetof(ours::{name}, {field}));"
            )
    for name in constants:
        text.append(f"static_assert((long long)(ours::{name}) == their_{name});")
    compile_only(tmp_path, text)


def header_text(name: str) -> str:
    return (include_folder() / name).read_text()


def test_result_codes(tmp_path):
    """All of them, none else."""
    ours = dict(re.findall(r"^E\((\w+), (\d+),", (CUDA / "errors.def").read_text(), re.M))
    enum = re.search(r"typedef enum cudaError_enum \{(.*?)\} CUresult;", header_text("cuda.h"), re.S)
    assert enum
    body = re.sub(r"/\*.*?\*/", "", enum[1], flags=re.S)
    assert ours == dict(re.findall(r"(CUDA_\w+)\s*= (\d+)", body))


def test_device_attributes():
    """Our numbers have the names that we gave them."""
    ours = re.findall(r"^  A\((\w+), (\d+),", (CUDA / "attributes.cpp").read_text(), re.M)
    assert len(ours) > 100
    theirs = dict(re.findall(r"CU_DEVICE_ATTRIBUTE_(\w+)\s*= (\d+)", header_text("cuda.h")))
    assert [(name, value) for name, value in ours if theirs.get(name) != value] == []


def test_the_table_is_made_from_the_header():
    assert (CUDA / "functions.def").read_text() == cuda_functions.table(include_folder())


def test_every_function_of_the_header_is_known():
    """In every version: what cuda.h declares on request for all of them."""
    done = subprocess.run(
        ["g++", "-E", "-P", "-D__CUDA_API_VERSION_INTERNAL", str(include_folder() / "cuda.h")],
        capture_output=True, text=True, check=True,
    )
    declared = set(re.findall(r"CUresult\s+(cu[A-Z]\w+)\s*\(", done.stdout))
    assert len(declared) > 600
    table = {symbol for _, _, symbol, _ in cuda_functions.functions(include_folder())}
    assert declared - table == set()
    # The rest is only graphics and the profiler, which have headers of their own.
    others = "".join(header_text(f"{name}Typedefs.h") for name in ("cudaGL", "cudaEGL", "cudaVDPAU",
                                                                   "cudaProfiler"))
    for symbol in table - declared:
        name = re.sub(r"(_v\d)?(_pt[ds][sz])?$", "", symbol)
        assert f"PFN_{name}_v" in others, symbol


def test_symbols_have_the_types_of_their_versions(tmp_path):
    """`cuMemAlloc_v2` is what cudaTypedefs.h calls PFN_cuMemAlloc_v3020: the n-th interface."""
    text = ["#include <type_traits>", '#include "cuda.h"', '#include "cudaTypedefs.h"']
    known = set(re.findall(r"\*(PFN_\w+)\)\(", header_text("cudaTypedefs.h")))
    count = 0
    for kind, name, symbol, version in cuda_functions.functions(include_folder()):
        twin = symbol[-5:] if kind == "P" else ""
        type_name = f"PFN_{name}_v{version}{twin}"
        if type_name not in known:
            continue
        text.append(f'static_assert(std::is_same_v<decltype(&{symbol}), {type_name}>, "{symbol}");')
        count += 1
    assert count > 600
    compile_only(tmp_path, ["#define __CUDA_API_VERSION_INTERNAL", *text])


def symbols() -> list[list[str]]:
    """Address, kind, name of the library's exports."""
    library = simulated.build_folder() / "sim" / "libcuda.so.1"
    out = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True
    ).stdout
    return [line.split() for line in out.splitlines() if line.strip()]


def exported() -> list[str]:
    return [name for *_, name in symbols()]


def strong() -> set[str]:
    """Those with their own body; what is not simulated is weak."""
    return {name for *_, kind, name in symbols() if kind == "T"}


def test_exactly_these_functions_leave_the_library():
    table = {symbol for _, _, symbol, _ in cuda_functions.functions(include_folder())}
    assert set(exported()) == table


def our_definitions() -> dict[str, str]:
    """Functions that have a body -> their parameters, from the preprocessed sources."""
    found = {}
    for source in sorted(CUDA.glob("*.cpp")):
        if source.name in ("symbols.cpp", "not_supported.cpp"):
            continue
        text = source.read_text()
        for match in re.finditer(r"^CUDA_API CUresult (cu\w+)\((.*?)\) \{", text, re.S | re.M):
            found[match[1]] = match[2]
        pattern = r"^CUDA_API_TWINS\((cu\w+), (cu\w+),\s*\((.*?)\),\s*\(.*?\)\) \{"
        for match in re.finditer(pattern, text, re.S | re.M):
            found[match[1]] = found[match[2]] = match[3]
    return found


def split(parameters: str) -> list[str]:
    parameters = re.sub(r"\s+", " ", parameters.replace("[[maybe_unused]]", "")).strip()
    return [] if parameters in ("", "void") else [part.strip() for part in parameters.split(",")]


def shape(parameter: str) -> str:
    """How it is passed: its pointers, or its width."""
    if "*" in parameter or "[" in parameter:
        return "word"
    if re.match(r"(const )?(float)\b", parameter):
        return "float"
    narrow = r"(const )?(unsigned int|unsigned|int|CUdevice|cuuint32_t|std::uint32_t|CUdevice_v1)\b"
    if re.match(narrow, parameter) and "long" not in parameter:
        return "int"
    if re.match(r"(const )?(unsigned char|unsigned short)\b", parameter):
        return "small"
    kind = re.match(r"(?:const )?(?:enum )?([\w:]+(?: long long)?)", parameter)
    name = kind[1] if kind else parameter
    if name.removesuffix("_v1") in ("CUmemLocation", "CUipcMemHandle", "CUipcEventHandle"):
        return name.removesuffix("_v1")
    return "int" if name in enums() else "word"


@functools.cache
def enums() -> set[str]:
    text = re.sub(r"/\*.*?\*/", "", header_text("cuda.h"), flags=re.S)
    found = set(re.findall(r"typedef enum \w+ \{[^}]*\}\s*(\w+);", text))
    found |= {new for old, new in re.findall(r"typedef (CU\w+) (CU\w+);", text) if old in found}
    return found


def test_bodies_take_what_the_header_says():
    """As many parameters, each passed in the same way."""
    done = subprocess.run(
        ["g++", "-E", "-P", "-D__CUDA_API_VERSION_INTERNAL", str(include_folder() / "cuda.h")],
        capture_output=True, text=True, check=True,
    )
    text = re.sub(r"__attribute__\(\(.*?\)\)", "", done.stdout)
    declared = dict(re.findall(r"CUresult\s+(cu[A-Z]\w+)\s*\(([^;]*?)\);", text, re.S))
    bodies = our_definitions()
    # A separate macro makes the twins of these two.
    missed = strong() - set(bodies)
    assert {re.sub(r"(_v2)?(_ptsz)?$", "", name) for name in missed} == {
        "cuStreamWaitValue32", "cuStreamWriteValue32",
    }
    assert len(bodies) > 280
    for name, parameters in bodies.items():
        if name not in declared:
            assert name.startswith("cuProfiler"), name
            continue
        ours = [shape(p) for p in split(parameters)]
        theirs = [shape(p) for p in split(declared[name])]
        assert ours == theirs, f"{name}: {parameters} / {declared[name]}"


@pytest.mark.parametrize("symbol", ["cuGreenCtxCreate", "cuMemSetMemPool", "cuGLInit", "cuLinkCreate",
                                    "cuGraphClone", "cuUserObjectCreate"])
def test_what_is_not_simulated_has_no_body(symbol):
    assert symbol not in our_definitions()
