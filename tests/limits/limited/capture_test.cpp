// Captures of graphs while the limiter measures: its calls of the driver break none, whatever
// happened to earlier captures.

#include <gtest/gtest.h>

#include <functional>

#include "limits/limited/container.h"

namespace tranche::test::capture_test {
namespace {

using namespace sim::cuda::abi;  // NOLINT(google-build-using-namespace)
using sim::cuda::test::in_program;
using sim::cuda::test::kSpin;
using sim::cuda::test::Program;
using sim::test::World;

// A program with work in one stream, which is measured while another one captures.
struct Capturing : Program {
  Capturing() : spin_kernel(function(kSpin, "spin")), busy(stream()), captured(stream()) {}

  void begin() {
    ASSERT_EQ(cuStreamBeginCapture_v2(captured, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  }
  CUresult end(CUstream stream) {
    CUgraph graph = nullptr;
    return cuStreamEndCapture(stream, &graph);
  }
  // A whole capture while the thread measures other work: nodes in it.
  std::size_t capture_beside_work() {
    CUgraph graph = nullptr;
    std::size_t count = 0;
    begin();
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(spin(spin_kernel, 2'000'000, busy), CUDA_SUCCESS);
      EXPECT_EQ(spin(spin_kernel, 1000, captured), CUDA_SUCCESS);
    }
    EXPECT_EQ(cuStreamEndCapture(captured, &graph), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphGetNodes(graph, nullptr, &count), CUDA_SUCCESS);
    return count;
  }

  CUfunction spin_kernel;
  CUstream busy;
  CUstream captured;
};

struct Before {
  const char* name;
  std::function<void(Capturing&)> happen;
};

const Before kBefore[] = {
    {"Nothing", [](Capturing&) {}},
    {"AnEndOfNoCapture",
     [](Capturing& p) {
       for (int i = 0; i < 3; ++i) EXPECT_NE(p.end(p.busy), CUDA_SUCCESS);
     }},
    {"ASecondBegin",
     [](Capturing& p) {
       p.begin();
       EXPECT_NE(p.cuStreamBeginCapture_v2(p.captured, CU_STREAM_CAPTURE_MODE_GLOBAL),
                 CUDA_SUCCESS);
       EXPECT_EQ(p.end(p.captured), CUDA_SUCCESS);
     }},
    {"AnEndInAJoinedStream",
     [](Capturing& p) {
       const CUstream joined = p.stream();
       const CUevent fork = p.event();
       EXPECT_EQ(p.spin(p.spin_kernel, 1000, joined), CUDA_SUCCESS);  // a batch that stays open
       p.begin();
       EXPECT_EQ(p.cuEventRecord(fork, p.captured), CUDA_SUCCESS);
       EXPECT_EQ(p.cuStreamWaitEvent(joined, fork, 0), CUDA_SUCCESS);
       for (int i = 0; i < 50; ++i) EXPECT_EQ(p.spin(p.spin_kernel, 1000, joined), CUDA_SUCCESS);
       EXPECT_NE(p.end(joined), CUDA_SUCCESS);
       EXPECT_NE(p.end(p.captured), CUDA_SUCCESS);
       EXPECT_EQ(p.spin(p.spin_kernel, 1000, joined), CUDA_SUCCESS);
     }},
    {"AnInvalidCapture",
     [](Capturing& p) {
       p.begin();
       EXPECT_NE(p.cuStreamSynchronize(p.captured), CUDA_SUCCESS);
       EXPECT_NE(p.end(p.captured), CUDA_SUCCESS);
     }},
    {"ADestroyedStream",
     [](Capturing& p) {
       const CUstream other = p.stream();
       EXPECT_EQ(p.cuStreamBeginCapture_v2(other, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
       p.cuStreamDestroy_v2(other);
     }},
};

class Captures : public testing::TestWithParam<Before> {};
INSTANTIATE_TEST_SUITE_P(LimitedCaptures, Captures, testing::ValuesIn(kBefore),
                         [](const auto& before) { return std::string(before.param.name); });

TEST_P(Captures, StayWholeWhateverWasBefore) {
  const World world("l20");
  const Container container({part_of(world, kGiB)});
  in_program([] {
    Capturing program;
    GetParam().happen(program);
    for (int round = 0; round < 3; ++round) EXPECT_EQ(program.capture_beside_work(), 20U);
    EXPECT_EQ(program.cuStreamSynchronize(program.busy), CUDA_SUCCESS);
  });
}

TEST(Captures, AStreamThatJoinsWithABatchOpenBringsItsLaunchesIn) {
  const World world("l20");
  const Container container({part_of(world, kGiB)});
  in_program([] {
    Capturing p;
    const CUstream joined = p.stream();
    const CUevent fork = p.event();
    const CUevent end = p.event();
    for (int i = 0; i < 100; ++i) EXPECT_EQ(p.spin(p.spin_kernel, 1000, joined), CUDA_SUCCESS);
    p.begin();
    EXPECT_EQ(p.cuEventRecord(fork, p.captured), CUDA_SUCCESS);
    EXPECT_EQ(p.cuStreamWaitEvent(joined, fork, 0), CUDA_SUCCESS);
    for (int i = 0; i < 500; ++i) EXPECT_EQ(p.spin(p.spin_kernel, 1000, joined), CUDA_SUCCESS);
    EXPECT_EQ(p.cuEventRecord(end, joined), CUDA_SUCCESS);
    EXPECT_EQ(p.cuStreamWaitEvent(p.captured, end, 0), CUDA_SUCCESS);
    CUgraph graph = nullptr;
    std::size_t count = 0;
    EXPECT_EQ(p.cuStreamEndCapture(p.captured, &graph), CUDA_SUCCESS);
    EXPECT_EQ(p.cuGraphGetNodes(graph, nullptr, &count), CUDA_SUCCESS);
    EXPECT_EQ(count, 500U);
  });
}

}  // namespace
}  // namespace tranche::test::capture_test
