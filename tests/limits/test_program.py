"""NVIDIA's own Python binding of the driver under the limiter, with a real arbiter: an independent
program in a container that was promised a part of a GPU."""

import os
import socket
import struct
import subprocess
import sys
import threading

import pytest

ours = pytest.importorskip("arbiter")
from container import Container, finish, serve  # noqa: E402, F401

MiB = ours.MiB
CONTEXT = 256 * MiB  # of a simulated L20, which counts too

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes a mount namespace: needs root")

PRELUDE = """
import ctypes, os, sys, time
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
MiB = 1 << 20
OUT_OF_MEMORY = cu.CUresult.CUDA_ERROR_OUT_OF_MEMORY
ok(cu.cuInit(0))
context = ok(cu.cuDevicePrimaryCtxRetain(0))
ok(cu.cuCtxSetCurrent(context))
"""


def start(container: Container, body: str, *unshare: str) -> subprocess.Popen:
    return container.start([sys.executable, "-c", PRELUDE + body], *unshare)


def run(container: Container, body: str) -> str:
    return finish(start(container, body))


@pytest.fixture
def container(serve):
    def promise(tenants, uuid):
        tenants.promise("mine", uuid, memory=1024 * MiB)
        return ["mine"]

    return serve(promise)


def test_memory_ends_at_the_part(container):
    run(container, """
free, total = ok(cu.cuMemGetInfo())
assert total == 1024 * MiB, total
held = [ok(cu.cuMemAlloc(64 * MiB)) for _ in range(8)]
error, _ = cu.cuMemAlloc(1024 * MiB)
assert error == OUT_OF_MEMORY, error
error, _ = cu.cuMemAllocManaged(1024 * MiB, 1)
assert error == OUT_OF_MEMORY, error
for pointer in held: ok(cu.cuMemFree(pointer))
stream = ok(cu.cuStreamCreate(1))
pointer = ok(cu.cuMemAllocAsync(512 * MiB, stream))
ok(cu.cuMemFreeAsync(pointer, stream))
ok(cu.cuStreamSynchronize(stream))
assert ok(cu.cuDeviceTotalMem(0)) == 1024 * MiB
""")


def test_the_context_counts_once_nvml_was_asked(container):
    run(container, f"""
deadline = time.time() + 20
while True:
    error, pointer = cu.cuMemAlloc(1024 * MiB - {CONTEXT} + 1)
    if error == OUT_OF_MEMORY: break
    ok(cu.cuMemFree(pointer))
    assert time.time() < deadline, "what the context takes is not counted"
    time.sleep(0.05)
ok(cu.cuMemAlloc(1024 * MiB - {CONTEXT} - 64 * MiB))
""")


def test_contexts_and_modules_end_at_the_part_too(container):
    """What they take is known when NVML has reported it; then no more of them are made."""
    run(container, f"""
def wait_for(what):
    deadline = time.time() + 20
    while not what():
        assert time.time() < deadline, ok(cu.cuMemGetInfo())
        time.sleep(0.02)

contexts = []
for _ in range(4):
    contexts.append(ok(cu.cuCtxCreate(None, 0, 0)))
    wait_for(lambda: ok(cu.cuMemGetInfo())[0] == max(0, 1024 * MiB - (len(contexts) + 1) * {CONTEXT}))

def is_refused():
    error, made = cu.cuCtxCreate(None, 0, 0)
    if error != OUT_OF_MEMORY: ok(cu.cuCtxDestroy(made))
    return error == OUT_OF_MEMORY
wait_for(is_refused)
GLOBALS = b'''
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .b8 big[1000000];
.visible .entry k() {{ ret; }}
'''
ok(cu.cuCtxSetCurrent(context))
assert cu.cuModuleLoadData(GLOBALS)[0] == OUT_OF_MEMORY
assert ok(cu.cuDevicePrimaryCtxRetain(0)) is not None  # it is there already
for other in contexts: ok(cu.cuCtxDestroy(other))
ok(cu.cuCtxSetCurrent(context))
wait_for(lambda: cu.cuModuleLoadData(GLOBALS)[0] == cu.CUresult.CUDA_SUCCESS)
""")


def test_contexts_that_are_made_at_once_end_at_the_part(container):
    """NVML reports them up to a second later; forty of them are made in less."""
    run(container, """
contexts = []
for _ in range(40):
    error, made = cu.cuCtxCreate(None, 0, 0)
    if error == OUT_OF_MEMORY: break
    assert error == cu.CUresult.CUDA_SUCCESS, error
    contexts.append(made)
assert 3 <= len(contexts) <= 5, len(contexts)
for _ in range(20):  # they end, and nothing is left of them
    for made in contexts: ok(cu.cuCtxDestroy(made))
    ok(cu.cuCtxSetCurrent(context))
    contexts = [ok(cu.cuCtxCreate(None, 0, 0))]
""")


BEGINNING_AT_ONCE = """
import os, signal, sys
from cuda.bindings import driver as cu

told, telling = os.pipe()
children = []
for _ in range(12):
    child = os.fork()
    if child == 0:
        cu.cuInit(0)
        error, _ = cu.cuDevicePrimaryCtxRetain(0)
        os.write(telling, b"1" if error == cu.CUresult.CUDA_SUCCESS else b"0")
        signal.pause()
    children.append(child)
print(sum(os.read(told, 1) == b"1" for _ in children))
for child in children: os.kill(child, signal.SIGKILL)
"""


def test_processes_that_begin_at_once_end_at_the_part(container):
    """NVML reports their contexts up to a second later; there is room for four."""
    run(container, "pass")  # from then on the arbiter has read NVML for the tenant
    made = int(container.run(sys.executable, "-c", BEGINNING_AT_ONCE))
    assert 3 <= made <= 6


def test_a_module_that_does_not_fit_is_not_kept(container):
    run(container, """
def module(bytes):
    return b'''
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .b8 big[%d];
.visible .entry k() { ret; }
''' % bytes

error, _ = cu.cuModuleLoadData(module(20 << 30))
assert error == OUT_OF_MEMORY, error
small = ok(cu.cuModuleLoadData(module(300 << 20)))
ok(cu.cuModuleUnload(small))
for _ in range(20): ok(cu.cuModuleUnload(ok(cu.cuModuleLoadData(module(300 << 20)))))
""")


SHARING = """
import socket
POSIX_FD = cu.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
properties = cu.CUmemAllocationProp()
properties.type = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
properties.requestedHandleTypes = POSIX_FD
properties.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
properties.location.id = 0
def export(handle): return int(ok(cu.cuMemExportToShareableHandle(handle, POSIX_FD, 0)))
def opened(fd): return ok(cu.cuMemImportFromShareableHandle(fd, POSIX_FD))
def is_refused(bytes):
    error, handle = cu.cuMemCreate(bytes, properties, 0)
    if error != OUT_OF_MEMORY: ok(cu.cuMemRelease(handle))
    return error == OUT_OF_MEMORY
def for_seconds(seconds, what):
    end = time.time() + seconds
    while time.time() < end:
        assert what(), ok(cu.cuMemGetInfo())
        time.sleep(0.01)
def wait_for(what):
    deadline = time.time() + 20
    while not what():
        assert time.time() < deadline, ok(cu.cuMemGetInfo())
        time.sleep(0.02)
"""


def test_memory_that_is_imported_before_its_owner_lets_it_go_is_still_the_tenants(container):
    """Repeated export, import, release: what is held this way is never outside the part."""
    run(container, SHARING + """
held = []
for _ in range(20):
    error, handle = cu.cuMemCreate(100 * MiB, properties, 0)
    if error == OUT_OF_MEMORY: break
    assert error == cu.CUresult.CUDA_SUCCESS, error
    fd = export(handle)
    held.append(opened(fd))
    os.close(fd)
    ok(cu.cuMemRelease(handle))
assert 5 <= len(held) <= 10, len(held)
for_seconds(4, lambda: is_refused(500 * MiB))
for handle in held: ok(cu.cuMemRelease(handle))
wait_for(lambda: not is_refused(700 * MiB))
""")


def test_what_was_exported_and_let_go_can_be_had_again(container):
    """Nobody held it: a new request waits for NVML at most, and is not refused."""
    run(container, SHARING + """
for _ in range(3):
    handle = ok(cu.cuMemCreate(700 * MiB, properties, 0))
    os.close(export(handle))
    ok(cu.cuMemRelease(handle))
    ok(cu.cuMemFree(ok(cu.cuMemAlloc(700 * MiB))))
""")


def test_memory_that_is_imported_after_its_owner_let_it_go_is_the_tenants_at_once(container):
    """Only a descriptor held it, and nobody was charged. NVML sees it as soon as it is imported,
    and reports it later."""
    run(container, SHARING + """
handle = ok(cu.cuMemCreate(700 * MiB, properties, 0))
fd = export(handle)
ok(cu.cuMemRelease(handle))
wait_for(lambda: not is_refused(700 * MiB))
address = ok(cu.cuMemAddressReserve(700 * MiB, 0, 0, 0))
for _ in range(3):
    handle = opened(fd)
    ok(cu.cuMemMap(address, 700 * MiB, 0, handle, 0))
    assert is_refused(500 * MiB)
    ok(cu.cuMemUnmap(address, 700 * MiB))
    ok(cu.cuMemMap(address, 700 * MiB, 0, handle, 0))
    for_seconds(1, lambda: is_refused(500 * MiB))
    assert not is_refused(10 * MiB)
    ok(cu.cuMemUnmap(address, 700 * MiB))
    ok(cu.cuMemRelease(handle))
    wait_for(lambda: not is_refused(700 * MiB))
""")


OWNER = """
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
importer = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=theirs.fileno())
theirs.close()
handle = ok(cu.cuMemCreate(300 * MiB, properties, 0))
fd = export(handle)
socket.send_fds(ours, [b"f"], [fd])
os.close(fd)
assert ours.recv(1) == b"1" and ours.recv(1) == b"2"
os.kill(os.getpid(), 9)
"""
IMPORTER = """
ours = socket.socket(fileno=0)
_, fds, _, _ = socket.recv_fds(ours, 1, 1)
handle = opened(fds[0])
os.close(fds[0])
ours.send(b"1")
for_seconds(3, lambda: not is_refused(100 * MiB))
ours.send(b"2")
assert not ours.recv(1)  # its owner is gone; NVML tells what that leaves
wait_for(lambda: ok(cu.cuMemGetInfo())[0] == (1024 - 256 - 300) * MiB)
for_seconds(3, lambda: is_refused(500 * MiB))
ok(cu.cuMemRelease(handle))
wait_for(lambda: not is_refused(500 * MiB))
print("done")
"""


def test_what_workers_share_counts_once_and_is_the_last_holders(container):
    program = PRELUDE + SHARING + IMPORTER
    owner = start(container, SHARING + f"import subprocess\nPROGRAM = {program!r}\n" + OWNER)
    out, err = owner.communicate(timeout=120)
    assert owner.returncode == -9, err
    assert out == "done\n", err


GLOBALS = """
def code(bytes):
    return b'''
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .b8 big[%d];
.visible .entry k() { ret; }
''' % bytes
"""


def test_a_library_that_is_loaded_by_its_first_launch_is_the_tenants(container):
    """By default since CUDA 12.2: nothing is taken at the load, and everything at the launch."""
    run(container, SHARING + GLOBALS + """
library = ok(cu.cuLibraryLoadData(code(20 << 30), [], [], 0, [], [], 0))
kernel = ok(cu.cuLibraryGetKernel(library, b"k"))
assert not is_refused(100 * MiB)
ok(cu.cuLaunchKernel(cu.CUfunction(int(kernel)), 1, 1, 1, 1, 1, 1, 0, 0, 0, 0))
end = time.time() + 1.5
while time.time() < end and not is_refused(100 * MiB): time.sleep(0.01)
for_seconds(2, lambda: is_refused(100 * MiB))
assert cu.cuMemAlloc(MiB)[0] == OUT_OF_MEMORY
assert cu.cuCtxCreate(None, 0, 0)[0] == OUT_OF_MEMORY
assert cu.cuModuleLoadData(code(MiB))[0] == OUT_OF_MEMORY
assert cu.cuLibraryLoadData(code(MiB), [], [], 0, [], [], 0)[0] == OUT_OF_MEMORY
ok(cu.cuLibraryUnload(library))
wait_for(lambda: not is_refused(700 * MiB))
""")


def test_memory_that_a_context_grows_by_is_the_tenants(container):
    """Stacks, the heap of kernels, printf's buffer: at the limit's change or the next launch."""
    run(container, SHARING + """
LIMIT = cu.CUlimit
def is_counted_soon(bytes):
    end = time.time() + 1.5
    while time.time() < end and not is_refused(bytes): time.sleep(0.01)
    for_seconds(1.5, lambda: is_refused(bytes))
spin = ok(cu.cuModuleGetFunction(ok(cu.cuModuleLoadData(PTX)), b"spin"))
other = ok(cu.cuCtxCreate(None, 0, 0))
wait_for(lambda: is_refused(512 * MiB + MiB * 2) and not is_refused(500 * MiB))
ok(cu.cuCtxSetLimit(LIMIT.CU_LIMIT_STACK_SIZE, 1024 + 1024))  # of 92 * 1536 threads: 138 MiB
is_counted_soon(400 * MiB)
ok(cu.cuCtxSetLimit(LIMIT.CU_LIMIT_MALLOC_HEAP_SIZE, 208 * MiB))
assert not is_refused(300 * MiB), "no kernel ran"
spin = ok(cu.cuModuleGetFunction(ok(cu.cuModuleLoadData(PTX)), b"spin"))
ok(cu.cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, 0, ((1,), (ctypes.c_uint64,)), 0))
is_counted_soon(200 * MiB)
ok(cu.cuCtxDestroy(other))
ok(cu.cuCtxSetCurrent(context))
wait_for(lambda: not is_refused(700 * MiB))
""")


def test_memory_that_is_mapped_into_arrays_outlives_its_handle_and_is_the_tenants(container):
    run(container, SHARING + """
sparse = cu.CUDA_ARRAY3D_DESCRIPTOR()
sparse.Width, sparse.Height, sparse.Depth = 16384, 8192, 0
sparse.Format, sparse.NumChannels, sparse.Flags = cu.CUarray_format.CU_AD_FORMAT_FLOAT, 1, 0x40
array = ok(cu.cuArray3DCreate(sparse))
tiles = cu.CUmemAllocationProp()
tiles.type = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
tiles.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
tiles.location.id = 0
tiles.allocFlags.usage = 1  # CU_MEM_CREATE_USAGE_TILE_POOL
mapped = 0
for number in range(20):
    error, handle = cu.cuMemCreate(100 * MiB, tiles, 0)
    if error == OUT_OF_MEMORY: break
    assert error == cu.CUresult.CUDA_SUCCESS, error
    info = cu.CUarrayMapInfo()
    info.resourceType = cu.CUresourcetype.CU_RESOURCE_TYPE_ARRAY
    info.resource.array = array
    info.subresource.sparseLevel.offsetX = number * 128
    info.subresource.sparseLevel.extentWidth = 128
    info.subresource.sparseLevel.extentHeight = 128
    info.subresource.sparseLevel.extentDepth = 1
    info.memOperationType = cu.CUmemOperationType.CU_MEM_OPERATION_TYPE_MAP
    info.memHandle.memHandle = handle
    info.deviceBitMask = 1
    ok(cu.cuMemMapArrayAsync([info], 1, 0))
    ok(cu.cuMemRelease(handle))
    mapped += 1
assert 5 <= mapped <= 10, mapped
for_seconds(4, lambda: is_refused(500 * MiB))
ok(cu.cuArrayDestroy(array))
wait_for(lambda: not is_refused(700 * MiB))
""")


def test_memory_that_is_bound_to_a_multicast_object_is_the_tenants(serve):
    def promise(tenants, uuid):
        tenants.promise("mine", uuid, memory=1024 * MiB)
        return ["mine"]

    run(serve(promise, "h200"), SHARING + """
wanted = cu.CUmulticastObjectProp()
wanted.numDevices, wanted.size, wanted.handleTypes, wanted.flags = 1, 4096 * MiB, 0, 0
group = ok(cu.cuMulticastCreate(wanted))
ok(cu.cuMulticastAddDevice(group, 0))
address = ok(cu.cuMemAddressReserve(2 * MiB * 50, 0, 0, 0))
bound = 0
for number in range(20):
    error, handle = cu.cuMemCreate(100 * MiB, properties, 0)
    if error == OUT_OF_MEMORY: break
    assert error == cu.CUresult.CUDA_SUCCESS, error
    if number % 2:
        ok(cu.cuMemMap(address, 100 * MiB, 0, handle, 0))
        ok(cu.cuMulticastBindAddr(group, number * 100 * MiB, address, 100 * MiB, 0))
        ok(cu.cuMemUnmap(address, 100 * MiB))
    else:
        ok(cu.cuMulticastBindMem(group, number * 100 * MiB, handle, 0, 100 * MiB, 0))
    ok(cu.cuMemRelease(handle))
    bound += 1
assert 5 <= bound <= 10, bound
for_seconds(4, lambda: is_refused(500 * MiB))
ok(cu.cuMulticastUnbind(group, 0, 0, 100 * MiB))
ok(cu.cuMemRelease(group))
wait_for(lambda: not is_refused(700 * MiB))
""")


def test_kernels_graphs_and_events(container):
    run(container, """
module = ok(cu.cuModuleLoadData(PTX))
kernel = ok(cu.cuModuleGetFunction(module, b"spin"))
stream = ok(cu.cuStreamCreate(1))
begin, end = ok(cu.cuEventCreate(0)), ok(cu.cuEventCreate(0))
def spin(ns):
    ok(cu.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, ((ns,), (ctypes.c_uint64,)), 0))
ok(cu.cuEventRecord(begin, stream))
for _ in range(50): spin(1_000_000)
ok(cu.cuEventRecord(end, stream))
ok(cu.cuEventSynchronize(end))
assert ok(cu.cuEventElapsedTime(begin, end)) >= 49
ok(cu.cuStreamBeginCapture(stream, cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL))
for _ in range(10): spin(100_000)
graph = ok(cu.cuStreamEndCapture(stream))
execution = ok(cu.cuGraphInstantiate(graph, 0))
for _ in range(10): ok(cu.cuGraphLaunch(execution, stream))
ok(cu.cuStreamSynchronize(stream))
ok(cu.cuGraphExecDestroy(execution))
""")


REFUSED = "assert cu.cuMemAlloc(MiB)[0] == OUT_OF_MEMORY"


def test_why_memory_is_refused_is_said(container):
    path = container.tenants.socket("mine")
    user = ("--user", "--map-root-user")
    # In a user namespace it is a tenant like any other.
    _, err = (program := start(container, "ok(cu.cuMemAlloc(MiB))", *user)).communicate(timeout=120)
    assert program.returncode == 0 and err == "", err
    os.chown(path, 1, 1)
    path.chmod(0o600)
    _, err = (program := start(container, REFUSED, *user)).communicate(timeout=120)
    assert program.returncode == 0, err
    assert "may not be connected to (SELinux or seccomp of this container?)" in err


def test_an_arbiter_of_another_release_is_said(container):
    path = container.tenants.socket("mine")
    path.unlink()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as other:
        other.bind(str(path))
        other.listen(64)

        def refuse():
            while True:
                peer, _ = other.accept()
                if not peer.recv(64):
                    return
                peer.send(struct.pack("=IIIIQII", ours.HELLO_MAGIC, ours.WELCOME, 2, 0, 0, 0, 0))

        threading.Thread(target=refuse, daemon=True).start()
        _, err = (program := start(container, REFUSED)).communicate(timeout=120)
        assert program.returncode == 0, err
        assert "the arbiter does not take this process (the library is of another release" in err
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as last:
            last.connect(str(path))


def test_what_one_cannot_have_another_has(container):
    """A process that ended has released what it held."""
    for _ in range(3):
        run(container, "assert cu.cuMemAlloc(700 * MiB)[0] == cu.CUresult.CUDA_SUCCESS")


def test_idle_memory_is_borrowed_until_its_owner_comes(serve):
    def promise(tenants, uuid):
        tenants.promise(
            "mine",
            uuid,
            enforcement="elastic",
            devices=[
                {
                    "uuid": uuid,
                    "weight": 1,
                    "memoryBytes": 1024 * MiB,
                    "memoryHardBytes": 46068 * MiB,
                    "deviceBytes": 46068 * MiB,
                }
            ],
        )
        tenants.promise("other", uuid, memory=30 * 1024 * MiB)
        return ["mine", "other"]

    container = serve(promise)
    program = start(container, """
free, total = ok(cu.cuMemGetInfo())
assert total == 1024 * MiB, total  # what can be relied upon
borrowed = [ok(cu.cuMemAlloc(10 * 1024 * MiB)) for _ in range(3)]
print("borrowed", flush=True)
sys.stdin.readline()
error, _ = cu.cuMemAlloc(10 * 1024 * MiB)
assert error == OUT_OF_MEMORY, error
for address in borrowed[1:]:
    ok(cu.cuMemFree(address))
print("given back", flush=True)
deadline = time.monotonic() + 30
while cu.cuMemAlloc(1024 * MiB)[0] == OUT_OF_MEMORY:  # of what nobody was promised
    assert time.monotonic() < deadline
    time.sleep(0.01)
""")
    assert program.stdout.readline() == "borrowed\n", program.communicate()
    owner = ours.Registered(container.tenants.socket("other"))
    program.stdin.write("the owner is here\n")
    program.stdin.flush()
    assert program.stdout.readline() == "given back\n", program.communicate()
    finish(program)
    owner.close()
