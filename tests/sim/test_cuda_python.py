"""NVIDIA's own Python binding of the driver, on the simulated one: an independent program."""

import json
import subprocess
import sys
import textwrap

import pytest

PRELUDE = """
import ctypes, json, os, sys, time
from cuda.bindings import driver as cu

def ok(answer):
    error, *values = answer
    assert error == cu.CUresult.CUDA_SUCCESS, error
    return values[0] if len(values) == 1 else values

PTX = b'''
.version 7.0
.target sm_70
.address_size 64
// tranche-sim: duration-ns = param 0
.visible .entry spin(.param .u64 duration) { ret; }
'''

ok(cu.cuInit(0))
device = ok(cu.cuDeviceGet(0))
context = ok(cu.cuDevicePrimaryCtxRetain(device))
ok(cu.cuCtxSetCurrent(context))
module = ok(cu.cuModuleLoadData(PTX))
kernel = ok(cu.cuModuleGetFunction(module, b"spin"))

def spin(ns, stream=0):
    ok(cu.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, ((ns,), (ctypes.c_uint64,)), 0))
"""


def program(machine, body: str, **env: str) -> str:
    """Runs the body after the prelude; returns its output."""
    return machine.run(sys.executable, "-c", PRELUDE + textwrap.dedent(body), env=env)


def test_devices_are_told(machine):
    out = program(machine("a100-40gb-x4"), """
        names = [ok(cu.cuDeviceGetName(96, i)).split(b"\\0")[0].decode()
                 for i in range(ok(cu.cuDeviceGetCount()))]
        free, total = ok(cu.cuMemGetInfo())
        sms = ok(cu.cuDeviceGetAttribute(
            cu.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device))
        print(json.dumps([names, free < total, sms, ok(cu.cuDriverGetVersion())]))
    """)
    assert json.loads(out) == [["NVIDIA A100-SXM4-40GB"] * 4, True, 108, 12080]


def test_memory_copies_and_frees(machine):
    program(machine("l20"), """
        size = 1 << 20
        before = ok(cu.cuMemGetInfo())[0]
        pointer = ok(cu.cuMemAlloc(size))
        out = bytes(range(256)) * (size // 256)
        ok(cu.cuMemcpyHtoD(pointer, out, size))
        back = bytearray(size)
        ok(cu.cuMemcpyDtoH(back, pointer, size))
        assert back == out
        ok(cu.cuMemsetD8(pointer, 7, 100))
        ok(cu.cuMemcpyDtoH(back, pointer, 200))
        assert back[99] == 7 and back[100] == 100
        ok(cu.cuMemFree(pointer))
        assert ok(cu.cuMemGetInfo())[0] == before
        error, _ = cu.cuMemAlloc(1 << 50)
        assert error == cu.CUresult.CUDA_ERROR_OUT_OF_MEMORY, error
        assert ok(cu.cuGetErrorName(error)) == b"CUDA_ERROR_OUT_OF_MEMORY"
    """)


def test_kernels_take_their_time_between_events(machine):
    program(machine("l20"), """
        stream = ok(cu.cuStreamCreate(cu.CUstream_flags.CU_STREAM_NON_BLOCKING))
        begin, end = ok(cu.cuEventCreate(0)), ok(cu.cuEventCreate(0))
        ok(cu.cuEventRecord(begin, stream))
        for _ in range(10):
            spin(2_000_000, stream)
        ok(cu.cuEventRecord(end, stream))
        assert cu.cuEventQuery(end)[0] == cu.CUresult.CUDA_ERROR_NOT_READY
        ok(cu.cuEventSynchronize(end))
        assert abs(ok(cu.cuEventElapsedTime(begin, end)) - 20) < 0.001
    """, TRANCHE_SIM_CLOCK="virtual")


def test_graphs(machine):
    program(machine("l20"), """
        stream = ok(cu.cuStreamCreate(0))
        mode = cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL
        ok(cu.cuStreamBeginCapture(stream, mode))
        for _ in range(3):
            spin(1_000_000, stream)
        graph = ok(cu.cuStreamEndCapture(stream))
        nodes, count = ok(cu.cuGraphGetNodes(graph, 10))
        assert count == 3, count
        kinds = {ok(cu.cuGraphNodeGetType(node)) for node in nodes[:count]}
        assert kinds == {cu.CUgraphNodeType.CU_GRAPH_NODE_TYPE_KERNEL}
        run = ok(cu.cuGraphInstantiate(graph, 0))
        begin, end = ok(cu.cuEventCreate(0)), ok(cu.cuEventCreate(0))
        ok(cu.cuEventRecord(begin, stream))
        ok(cu.cuGraphLaunch(run, stream))
        ok(cu.cuGraphLaunch(run, stream))
        ok(cu.cuEventRecord(end, stream))
        ok(cu.cuStreamSynchronize(stream))
        assert abs(ok(cu.cuEventElapsedTime(begin, end)) - 6) < 0.001
        ok(cu.cuGraphExecDestroy(run))
        ok(cu.cuGraphDestroy(graph))
    """, TRANCHE_SIM_CLOCK="virtual")


def test_pools_and_mappings(machine):
    program(machine("l20"), """
        stream = ok(cu.cuStreamCreate(0))
        pointer = ok(cu.cuMemAllocAsync(1 << 20, stream))
        ok(cu.cuMemFreeAsync(pointer, stream))
        ok(cu.cuStreamSynchronize(stream))
        wanted = cu.CUmemAllocationProp()
        wanted.type = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        wanted.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        wanted.location.id = 0
        page = ok(cu.cuMemGetAllocationGranularity(
            wanted, cu.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM))
        handle = ok(cu.cuMemCreate(page, wanted, 0))
        place = ok(cu.cuMemAddressReserve(page, 0, 0, 0))
        ok(cu.cuMemMap(place, page, 0, handle, 0))
        access = cu.CUmemAccessDesc()
        access.location = wanted.location
        access.flags = cu.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        ok(cu.cuMemSetAccess(place, page, [access], 1))
        ok(cu.cuMemsetD8(place, 1, page))
        ok(cu.cuMemUnmap(place, page))
        ok(cu.cuMemAddressFree(place, page))
        ok(cu.cuMemRelease(handle))
    """)


def test_what_the_driver_has_not_got_is_missed_by_name(machine):
    """CUDA 12.8 knows no function of 13: the binding cannot find it."""
    out = program(machine("l20"), """
        try:
            cu.cuLogicalEndpointIdReserve(1)
        except RuntimeError as error:
            print(error)
    """)
    assert "cuLogicalEndpointIdReserve" in out


@pytest.fixture
def busy(machine):
    """A program that holds a GiB and keeps an L20 three quarters busy, until it is ended."""
    one = machine("l20")
    process = subprocess.Popen(
        [sys.executable, "-c", PRELUDE + textwrap.dedent("""
            pointer = ok(cu.cuMemAlloc(1 << 30))
            print("ready", flush=True)
            stream = ok(cu.cuStreamCreate(0))
            # Without end; the reader kills it.
            while True:
                spin(30_000_000, stream)
                ok(cu.cuStreamSynchronize(stream))
                time.sleep(0.01)
        """)],
        env=one.env, stdout=subprocess.PIPE, text=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    yield one, process
    process.kill()
    process.wait()
    process.stdout.close()


def test_nvidia_smi_shows_the_process_its_memory_and_what_it_does(busy):
    machine, process = busy
    query = ("--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits")
    pid, memory = machine.smi(*query).strip().split(", ")
    assert int(pid) == process.pid
    # What it allocated, and its context.
    assert int(memory) == 1024 + 256
    used = ("--query-gpu=memory.used,utilization.gpu", "--format=csv,noheader,nounits")
    for _ in range(200):
        memory, load = (int(v) for v in machine.smi(*used).strip().split(", "))
        assert memory >= 1280
        [shown] = machine.show()["gpus"][0]["processes"]
        assert (shown["pid"], shown["memoryMiB"]) == (process.pid, 1280)
        if load > 0 and shown["utilPercent"] > 0:
            break
    assert 0 < load <= 100
    assert 0 < shown["utilPercent"] <= 100
    assert str(process.pid) in machine.smi()
    process.kill()
    process.wait()
    assert machine.smi(*query).strip() == ""
    assert int(machine.smi(*used).split(", ")[0]) == memory - 1280
