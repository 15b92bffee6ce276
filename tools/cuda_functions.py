#!/usr/bin/env python3
"""Makes sim/cuda/functions.def: which driver functions there are, since which CUDA version.

    tools/cuda_functions.py INCLUDE_FOLDER > sim/cuda/functions.def

INCLUDE_FOLDER holds NVIDIA's cuda.h and cuda*Typedefs.h (Python package nvidia-cuda-runtime, pinned
in tests/requirements.txt; a test compares). Taken from them are names and numbers alone: a typedef
`PFN_cuMemAlloc_v3020` says that version 3.2 brought another binary interface of cuMemAlloc; the n-th
interface is the symbol `cuMemAlloc_v<n>`.
"""

import pathlib
import re
import sys

TYPEDEFS = ("cuda", "cudaGL", "cudaEGL", "cudaVDPAU", "cudaProfiler")
NOT_HERE = {"cuWGLGetDevice"}  # Windows alone
HEAD = """\
// The driver's functions, made by tools/cuda_functions.py.
//   F(name, symbol, version)    this symbol is the interface of `name` since CUDA `version`
//   P(name, symbol, version)    the same where stream 0 is the thread's own default stream
// NVIDIA's names and version numbers, CUDA {version}. Whatever has no body in this folder answers
// CUDA_ERROR_NOT_SUPPORTED (not_supported.cpp).
"""


def functions(include: pathlib.Path) -> list[tuple[str, str, str, int]]:
    """(F or P, name, symbol, version), sorted."""
    versions: dict[tuple[str, str], set[int]] = {}
    for part in TYPEDEFS:
        text = (include / f"{part}Typedefs.h").read_text()
        for name, version, twin in re.findall(r"\*PFN_(cu\w+?)_v(\d+)(_ptds|_ptsz)?\)\(", text):
            if name not in NOT_HERE:
                versions.setdefault((name, twin), set()).add(int(version))
    found = []
    for (name, twin), since in versions.items():
        legacy = sorted(versions.get((name, ""), ()))
        for index, version in enumerate(sorted(since)):
            # A twin came with the newest interface of its time, or with one of its own.
            number = sum(v <= version for v in legacy) if twin else index + 1
            suffix = f"_v{number}" if number > 1 else ""
            found.append(("P" if twin else "F", name, f"{name}{suffix}{twin}", version))
    return sorted(found, key=lambda f: (f[1], f[0], f[3]))


def table(include: pathlib.Path) -> str:
    version = re.search(r"#define CUDA_VERSION (\d+)", (include / "cuda.h").read_text())
    assert version, "cuda.h names no version"
    number = int(version[1])
    head = HEAD.format(version=f"{number // 1000}.{number % 1000 // 10}")
    lines = [f"{kind}({name}, {symbol}, {since})" for kind, name, symbol, since in functions(include)]
    return head + "\n".join(lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.stdout.write(table(pathlib.Path(sys.argv[1])))
