"""A CUDA program controlled line by line, using only the driver API.

Reads lines of words: the name of one of its steps, and numbers. Answers each with a line: the CUDA
result, and the requested value if there is one. With a number as its argument it becomes that user.
"""

import ctypes
import os
import sys

PTX = b"""
.version 7.0
.target sm_70
.address_size 64
// tranche-sim: duration-ns = param 0
.visible .entry spin(.param .u64 duration) { ret; }
"""


class Program:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.contexts = []

    def init(self):
        return self.cuda.cuInit(0)

    def count(self):
        count = ctypes.c_int()
        return self.cuda.cuDeviceGetCount(ctypes.byref(count)), count.value

    def context(self, device=0):
        context = ctypes.c_void_p()
        result = self.cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device)
        if result == 0:
            self.contexts.append(context)
        return result

    def destroy(self):
        return self.cuda.cuCtxDestroy_v2(self.contexts.pop())

    def allocate(self, mebibytes):
        address = ctypes.c_uint64()
        return self.cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(mebibytes << 20))

    def free(self):
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        result = self.cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
        return result, free.value >> 20

    def mps(self):
        value = ctypes.c_int()
        return self.cuda.cuDeviceGetAttribute(ctypes.byref(value), 133, 0), value.value

    def spin(self, nanoseconds):
        module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
        result = self.cuda.cuModuleLoadData(ctypes.byref(module), PTX)
        if result != 0:
            return result
        self.cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"spin")
        duration = ctypes.c_uint64(nanoseconds)
        parameters = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(duration), ctypes.c_void_p))
        return self.cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, parameters, None)

    def synchronize(self):
        return self.cuda.cuCtxSynchronize()


program = Program()
if len(sys.argv) > 1:  # with the library loaded, which another user may not find
    os.setuid(int(sys.argv[1]))
for line in sys.stdin:
    step, *numbers = line.split()
    answer = getattr(program, step)(*map(int, numbers))
    print(*(answer if isinstance(answer, tuple) else (answer,)), flush=True)
