"""The beginning of a program that uses the CUDA driver by ctypes, for what tranche-load does not
do: it asks for views, and holds memory until it is killed."""

import sys

PRELUDE = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
size_t, address_t = ctypes.c_size_t, ctypes.c_uint64
MiB = 1 << 20
OUT_OF_MEMORY = 2

def ok(code):
    assert code == 0, f"CUDA error {code}"

def memory_info():
    free, total = size_t(), size_t()
    ok(cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)))
    return free.value, total.value

def allocate(size):
    address = address_t()
    code = cuda.cuMemAlloc_v2(ctypes.byref(address), size_t(size))
    return code, address

def free(address):
    ok(cuda.cuMemFree_v2(address))

def fits(size):
    code, address = allocate(size)
    assert code in (0, OUT_OF_MEMORY), f"CUDA error {code}"
    if code == 0: free(address)
    return code == 0

ok(cuda.cuInit(0))
context = ctypes.c_void_p()
ok(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
ok(cuda.cuCtxSetCurrent(context))
"""


def command(body: str) -> list:
    return [sys.executable, "-c", PRELUDE + body]
