// Physical memory that several processes hold: it exists until the last one releases it or dies,
// and counts once.

#include <fcntl.h>
#include <sys/socket.h>

#include "sim/cuda/support.h"
#include "sim/gpu/memory.h"
#include "sim/gpu/shared_memory.h"

namespace tranche::sim::cuda::test::sharing_test {
namespace {

constexpr std::uint64_t kBytes = 512 * kMiB;

CUmemAllocationProp exportable() {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  return properties;
}

// A program that shares memory: its handle and a descriptor of it.
struct Maker : Program {
  Maker() {
    const auto properties = exportable();
    EXPECT_EQ(cuMemCreate(&handle, kBytes, &properties, 0), CUDA_SUCCESS);
    EXPECT_EQ(
        cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        CUDA_SUCCESS);
  }
  CUmemGenericAllocationHandle handle = 0;
  int fd = -1;
};

CUmemGenericAllocationHandle import(Program& program, int fd, CUresult expected = CUDA_SUCCESS) {
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(
      program.cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(std::intptr_t{fd}),
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
      expected);
  return handle;
}

// A descriptor on its way from one process to another.
void send(int socket, int fd) {
  char byte = 0;
  iovec data = {&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof fd)> control = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  EXPECT_EQ(::sendmsg(socket, &message, 0), 1);
}
int receive(int socket) {
  char byte = 0;
  iovec data = {&byte, 1};
  int fd = -1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof fd)> control = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  EXPECT_EQ(::recvmsg(socket, &message, 0), 1);
  if (CMSG_FIRSTHDR(&message) != nullptr) {
    std::memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
  }
  return fd;
}

// The process's memory by NVML; -1: it is not listed.
std::int64_t memory_of_process(const Simulation& sim, pid_t pid) {
  for (const LiveUse& live : live_uses(sim, 0)) {
    if (live.pid == pid) return static_cast<std::int64_t>(memory_of(sim, live));
  }
  return -1;
}

TEST(CudaSharing, AnImportInTheSameProcessKeepsTheMemory) {
  const World world("l20");
  const auto sim = world.open();
  in_program([&] {
    Maker maker;
    const std::uint64_t with = memory_use(*sim, 0, kNone).used;
    const auto again = import(maker, maker.fd);
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, with) << "it is there once";
    EXPECT_EQ(maker.cuMemRelease(maker.handle), CUDA_SUCCESS);
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, with);
    EXPECT_EQ(maker.cuMemRelease(again), CUDA_SUCCESS);
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, with - kBytes);
    // Only the descriptor holds it: an importer takes the memory.
    const auto anew = import(maker, maker.fd);
    EXPECT_EQ(memory_use(*sim, 0, kNone).used, with);
    EXPECT_EQ(maker.cuMemRelease(anew), CUDA_SUCCESS);
    const CUdeviceptr all = maker.allocate(maker.free_bytes() - kMiB);
    import(maker, maker.fd, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(maker.cuMemFree_v2(all), CUDA_SUCCESS);
  });
}

TEST(CudaSharing, TheMakersDeathLeavesTheMemoryToWhoeverImportedIt) {
  const World world("l20");
  const auto sim = world.open();
  std::array<int, 2> sockets = {};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()), 0);
  const pid_t importer = start([&] {
    const int fd = receive(sockets[0]);
    Program program;
    const auto handle = import(program, fd);
    char byte = 0;
    EXPECT_EQ(::write(sockets[0], &byte, 1), 1);
    EXPECT_EQ(::read(sockets[0], &byte, 1), 1);
    EXPECT_EQ(program.cuMemRelease(handle), CUDA_SUCCESS);
    EXPECT_EQ(::write(sockets[0], &byte, 1), 1);
    EXPECT_EQ(::read(sockets[0], &byte, 1), 1);
  });
  char byte = 0;
  const std::uint64_t idle = memory_use(*sim, 0, kNone).used;
  const auto context = static_cast<std::int64_t>(256 * kMiB);
  const auto bytes = static_cast<std::int64_t>(kBytes);
  const pid_t maker = start([&] {
    const Maker made;
    send(sockets[1], made.fd);
    EXPECT_EQ(::read(sockets[1], &byte, 1), 1);
    EXPECT_EQ(memory_of_process(*sim, importer), context) << "it counts for who made it";
    EXPECT_EQ(memory_of_process(*sim, ::getpid()), context + bytes);
  });
  expect_success(maker);
  EXPECT_EQ(memory_of_process(*sim, importer), context + bytes);
  EXPECT_EQ(memory_use(*sim, 0, kNone).used, idle + 256 * kMiB + kBytes);
  EXPECT_EQ(::write(sockets[1], &byte, 1), 1);
  EXPECT_EQ(::read(sockets[1], &byte, 1), 1);
  EXPECT_EQ(memory_of_process(*sim, importer), context);
  EXPECT_EQ(::write(sockets[1], &byte, 1), 1);
  expect_success(importer);
}

}  // namespace
}  // namespace tranche::sim::cuda::test::sharing_test
