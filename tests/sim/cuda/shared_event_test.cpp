// Events that several processes hold (cuIpcGetEventHandle): recorded in one, awaited in another.

#include <csignal>
#include <random>

#include "sim/cuda/support.h"

namespace tranche::sim::cuda::test::shared_event_test {
namespace {

constexpr unsigned kShared = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;

// Two ends of a connection between processes.
struct Wire {
  Wire() { EXPECT_EQ(::pipe(ends.data()), 0); }
  void send(const CUipcEventHandle& handle = {}) const {
    EXPECT_EQ(::write(ends[1], &handle, sizeof handle), ssize_t{sizeof handle});
  }
  CUipcEventHandle receive() const {
    CUipcEventHandle handle = {};
    EXPECT_EQ(::read(ends[0], &handle, sizeof handle), ssize_t{sizeof handle});
    return handle;
  }
  std::array<int, 2> ends = {};
};

// A program whose stream can be blocked.
struct Peer : Program {
  Peer() : word(allocate(sizeof(std::uint32_t))), held(stream()) {
    EXPECT_EQ(cuMemsetD8_v2(word, 0, sizeof(std::uint32_t)), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  }
  void hold() {
    EXPECT_EQ(cuStreamWaitValue32_v2(held, word, 1, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
  }
  void release() { EXPECT_EQ(cuStreamWriteValue32_v2(stream(), word, 1, 0), CUDA_SUCCESS); }
  CUipcEventHandle handle_of(CUevent event, CUresult expected = CUDA_SUCCESS) {
    CUipcEventHandle exported = {};
    EXPECT_EQ(cuIpcGetEventHandle(&exported, event), expected);
    return exported;
  }
  CUevent open(const CUipcEventHandle& exported, CUresult expected = CUDA_SUCCESS) {
    CUevent event = nullptr;
    EXPECT_EQ(cuIpcOpenEventHandle(&event, exported), expected);
    return event;
  }
  CUdeviceptr word;
  CUstream held;
};

TEST(CudaSharedEvent, IsMadeForThatAndOpenedElsewhere) {
  const World world("l20");
  in_program([] {
    Peer peer;
    int is_supported = 0;
    EXPECT_EQ(peer.cuDeviceGetAttribute(&is_supported, 125, 0), CUDA_SUCCESS);
    EXPECT_EQ(is_supported, 1);
    CUevent none = nullptr;
    EXPECT_EQ(peer.cuEventCreate(&none, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
    peer.handle_of(peer.event(CU_EVENT_DISABLE_TIMING), CUDA_ERROR_INVALID_HANDLE);
    peer.handle_of(nullptr, CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(peer.cuIpcGetEventHandle(nullptr, peer.event(kShared)), CUDA_ERROR_INVALID_VALUE);
    const CUipcEventHandle handle = peer.handle_of(peer.event(kShared));
    EXPECT_EQ(peer.cuIpcOpenEventHandle(nullptr, handle), CUDA_ERROR_INVALID_VALUE);
    peer.open(handle, CUDA_ERROR_INVALID_CONTEXT);
  });
}

TEST(CudaSharedEvent, IsWaitedForInAnotherProcess) {
  const World world("l20");
  const Wire there;
  const Wire back;
  const pid_t importer = start([&] {
    const CUipcEventHandle handle = there.receive();
    Peer peer;
    const CUevent event = peer.open(handle);
    EXPECT_EQ(peer.cuEventQuery(event), CUDA_SUCCESS) << "it was not recorded yet";
    EXPECT_EQ(peer.cuEventSynchronize(event), CUDA_SUCCESS);
    back.send();
    there.receive();
    EXPECT_EQ(peer.cuEventQuery(event), CUDA_ERROR_NOT_READY);
    const CUstream stream = peer.stream();
    EXPECT_EQ(peer.cuStreamWaitEvent(stream, event, 0), CUDA_SUCCESS);
    EXPECT_EQ(peer.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    back.send();
    EXPECT_EQ(peer.cuEventSynchronize(event), CUDA_SUCCESS);
    EXPECT_EQ(peer.cuEventQuery(event), CUDA_SUCCESS);
    EXPECT_EQ(peer.cuStreamSynchronize(stream), CUDA_SUCCESS);
    // It reports no timing, and cannot be passed on.
    EXPECT_EQ(peer.cuEventRecord(event, stream), CUDA_SUCCESS);
    float ms = 0;
    EXPECT_EQ(peer.cuEventElapsedTime(&ms, event, event), CUDA_ERROR_INVALID_HANDLE);
    peer.handle_of(event, CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(peer.cuEventDestroy_v2(event), CUDA_SUCCESS);
    EXPECT_EQ(peer.cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
    back.send();
  });
  in_program([&] {
    Peer peer;
    const CUevent event = peer.event(kShared);
    there.send(peer.handle_of(event));
    back.receive();
    peer.hold();
    EXPECT_EQ(peer.cuEventRecord(event, peer.held), CUDA_SUCCESS);
    there.send();
    back.receive();
    peer.release();
    back.receive();
  });
  expect_success(importer);
}

TEST(CudaSharedEvent, TheLastRecordingCountsWhoeverMadeIt) {
  const World world("l20");
  const Wire there;
  const Wire back;
  const pid_t importer = start([&] {
    const CUipcEventHandle handle = there.receive();
    Peer peer;
    const CUevent event = peer.open(handle);
    const CUevent twin = peer.open(handle);
    peer.hold();
    EXPECT_EQ(peer.cuEventRecord(event, peer.held), CUDA_SUCCESS);
    EXPECT_EQ(peer.cuEventQuery(twin), CUDA_ERROR_NOT_READY);
    back.send();
    there.receive();
    // The exporter has recorded it again meanwhile, and that is over.
    EXPECT_EQ(peer.cuEventQuery(event), CUDA_SUCCESS);
    EXPECT_EQ(peer.cuStreamQuery(peer.held), CUDA_ERROR_NOT_READY);
    peer.release();
    EXPECT_EQ(peer.cuStreamSynchronize(peer.held), CUDA_SUCCESS);
    back.send();
  });
  in_program([&] {
    Peer peer;
    const CUevent event = peer.event(kShared);
    there.send(peer.handle_of(event));
    back.receive();
    EXPECT_EQ(peer.cuEventQuery(event), CUDA_ERROR_NOT_READY);
    const CUstream before = peer.stream();
    EXPECT_EQ(peer.cuStreamWaitEvent(before, event, 0), CUDA_SUCCESS);
    EXPECT_EQ(peer.cuEventRecord(event, peer.stream()), CUDA_SUCCESS);
    EXPECT_EQ(peer.cuEventSynchronize(event), CUDA_SUCCESS);
    EXPECT_EQ(peer.cuStreamQuery(before), CUDA_ERROR_NOT_READY) << "it waits for the first one";
    there.send();
    back.receive();
    EXPECT_EQ(peer.cuStreamSynchronize(before), CUDA_SUCCESS);
  });
  expect_success(importer);
}

TEST(CudaSharedEvent, AHandleThatIsNoneIsRefused) {
  const World world("l20");
  in_program([&] {
    const Wire there;
    const Wire back;
    const pid_t importer = start([&] {
      const CUipcEventHandle handle = there.receive();
      Peer peer;
      std::mt19937 random(1);
      for (int i = 0; i < 1000; ++i) {
        CUipcEventHandle wrong = {};
        for (char& byte : wrong.reserved) byte = static_cast<char>(random());
        peer.open(wrong, CUDA_ERROR_INVALID_HANDLE);
      }
      for (std::size_t i = 0; i < sizeof handle; ++i) {
        CUipcEventHandle wrong = handle;
        wrong.reserved[i] = static_cast<char>(wrong.reserved[i] ^ 0x41);
        peer.open(wrong, CUDA_ERROR_INVALID_HANDLE);
      }
      peer.open({}, CUDA_ERROR_INVALID_HANDLE);
      EXPECT_EQ(peer.cuEventDestroy_v2(peer.open(handle)), CUDA_SUCCESS);
      back.send();
      there.receive();
      peer.open(handle, CUDA_ERROR_INVALID_HANDLE);
    });
    Peer peer;
    const CUevent event = peer.event(kShared);
    there.send(peer.handle_of(event));
    back.receive();
    EXPECT_EQ(peer.cuEventDestroy_v2(event), CUDA_SUCCESS);
    there.send();
    expect_success(importer);
  });
}

TEST(CudaSharedEvent, AnotherMigDeviceDoesNotOpenIt) {
  const World world("a100-40gb-mig");
  in_program([&] {
    const Wire there;
    const pid_t importer = start([&] {
      ::setenv("NVIDIA_VISIBLE_DEVICES", "0:1", 1);
      Peer peer;
      peer.open(there.receive(), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    });
    ::setenv("NVIDIA_VISIBLE_DEVICES", "0:0", 1);
    Peer peer;
    there.send(peer.handle_of(peer.event(kShared)));
    expect_success(importer);
  });
}

TEST(CudaSharedEvent, WhatIsLetGoEverywhereMakesRoom) {
  const World world("l20");
  in_program([] {
    Peer peer;
    for (int i = 0; i < 2000; ++i) {
      const CUevent event = peer.event(kShared);
      EXPECT_EQ(peer.cuEventRecord(event, nullptr), CUDA_SUCCESS);
      EXPECT_EQ(peer.cuEventDestroy_v2(event), CUDA_SUCCESS);
    }
  });
}

TEST(CudaSharedEvent, ManyRecordingsInARowAreOneAfterTheOther) {
  const World world("l20");
  in_program([&] {
    const Wire there;
    const Wire back;
    const pid_t importer = start([&] {
      Peer peer;
      const CUevent event = peer.open(there.receive());
      EXPECT_EQ(peer.cuEventQuery(event), CUDA_ERROR_NOT_READY);
      back.send();
      EXPECT_EQ(peer.cuEventSynchronize(event), CUDA_SUCCESS);
    });
    Peer peer;
    const CUevent event = peer.event(kShared);
    peer.hold();
    for (int i = 0; i < 200; ++i) EXPECT_EQ(peer.cuEventRecord(event, peer.held), CUDA_SUCCESS);
    there.send(peer.handle_of(event));
    back.receive();
    peer.release();
    expect_success(importer);
  });
}

// What the exporter does while another process waits for a recording that will not come by itself.
struct End {
  const char* name;
  void (*end)(Peer& peer, CUevent event);
  bool is_killed = false;
};
const End kEnds[] = {
    {"destroys the event, then the work is over",
     [](Peer& peer, CUevent event) {
       EXPECT_EQ(peer.cuEventDestroy_v2(event), CUDA_SUCCESS);
       peer.release();
       EXPECT_EQ(peer.cuStreamSynchronize(peer.held), CUDA_SUCCESS);
     }},
    {"destroys the context",
     [](Peer& peer, CUevent) { EXPECT_EQ(peer.cuCtxDestroy_v2(peer.context), CUDA_SUCCESS); }},
    {"is killed", [](Peer&, CUevent) { ::raise(SIGKILL); }, true},
};

TEST(CudaSharedEvent, NobodyWaitsForAnExporterThatHasGone) {
  for (const End& end : kEnds) {
    SCOPED_TRACE(end.name);
    const World world("l20");
    const Wire there;
    const Wire back;
    const Wire stay;
    const pid_t importer = start([&] {
      Peer peer;
      const CUevent event = peer.open(there.receive());
      const CUstream stream = peer.stream();
      EXPECT_EQ(peer.cuStreamWaitEvent(stream, event, 0), CUDA_SUCCESS);
      EXPECT_EQ(peer.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
      EXPECT_EQ(peer.cuEventQuery(event), CUDA_ERROR_NOT_READY);
      back.send();
      EXPECT_EQ(peer.cuEventSynchronize(event), CUDA_SUCCESS);
      EXPECT_EQ(peer.cuStreamSynchronize(stream), CUDA_SUCCESS);
      // It exists as long as anybody has it.
      EXPECT_EQ(peer.cuEventRecord(event, stream), CUDA_SUCCESS);
      EXPECT_EQ(peer.cuEventSynchronize(event), CUDA_SUCCESS);
      EXPECT_EQ(peer.cuEventDestroy_v2(event), CUDA_SUCCESS);
      stay.send();
    });
    const pid_t exporter = start([&] {
      Peer peer;
      const CUevent event = peer.event(kShared);
      peer.hold();
      EXPECT_EQ(peer.cuEventRecord(event, peer.held), CUDA_SUCCESS);
      there.send(peer.handle_of(event));
      back.receive();
      end.end(peer, event);
      stay.receive();  // its end does not help
    });
    expect_success(importer);
    int status = 0;
    EXPECT_EQ(::waitpid(exporter, &status, 0), exporter);
    EXPECT_EQ(status, end.is_killed ? SIGKILL : 0);
  }
}

}  // namespace
}  // namespace tranche::sim::cuda::test::shared_event_test
