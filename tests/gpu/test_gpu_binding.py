"""NVIDIA's own Python binding under the limiter: an independent program, which finds functions by
cuGetProcAddress."""

import sys

import pytest
from machine import REAL, MiB

PROGRAM = f"""
import ctypes
from cuda.bindings import driver as cu

def ok(answer):
    error, *values = answer
    assert error == cu.CUresult.CUDA_SUCCESS, error
    return values[0] if len(values) == 1 else values

PTX = b'''
.version 7.0
.target sm_70
.address_size 64
// tranche-sim: duration-ns = 1000
.visible .entry answer(.param .u64 where) {{
    .reg .u64 %address;
    ld.param.u64 %address, [where];
    cvta.to.global.u64 %address, %address;
    st.global.u32 [%address], 42;
    ret;
}}
'''
ok(cu.cuInit(0))
ok(cu.cuCtxSetCurrent(ok(cu.cuDevicePrimaryCtxRetain(0))))
free, total = ok(cu.cuMemGetInfo())
assert total == {2048 * MiB}, total
stream = ok(cu.cuStreamCreate(1))
kernel = ok(cu.cuModuleGetFunction(ok(cu.cuModuleLoadData(PTX)), b"answer"))
memory = ok(cu.cuMemAlloc({64 * MiB}))
for _ in range(100):
    ok(cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, ((memory,), (None,)), 0))
ok(cu.cuStreamSynchronize(stream))
found = ctypes.c_uint32(0)
ok(cu.cuMemcpyDtoH(ctypes.addressof(found), memory, 4))
ok(cu.cuMemFree(memory))
error, _ = cu.cuMemAlloc({4096 * MiB})
assert error == cu.CUresult.CUDA_ERROR_OUT_OF_MEMORY, error
print(found.value)
"""


def test_it_allocates_launches_and_frees(served, tell):
    pytest.importorskip("cuda.bindings.driver", reason="Python has no cuda-bindings here", exc_type=ImportError)
    container = served.container("mine", memory=2048 * MiB)
    written = int(container.run([sys.executable, "-c", PROGRAM]))
    # The simulated driver runs no code.
    assert not REAL or written == 42
    tell("cuda.bindings.driver: 100 launches, allocation and free, refused beyond the part", "as it should be")
