// Stream capture and graphs, in virtual time.

#include <algorithm>
#include <thread>

#include "sim/cuda/support.h"

namespace tranche::sim::cuda::test::graph_test {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

std::vector<CUgraphNode> nodes_of(const Cuda& cuda, CUgraph graph) {
  std::size_t count = 0;
  EXPECT_EQ(cuda.cuGraphGetNodes(graph, nullptr, &count), CUDA_SUCCESS);
  std::vector<CUgraphNode> nodes(count);
  EXPECT_EQ(cuda.cuGraphGetNodes(graph, nodes.data(), &count), CUDA_SUCCESS);
  return nodes;
}

std::size_t edges_of(const Cuda& cuda, CUgraph graph) {
  std::size_t count = 0;
  EXPECT_EQ(cuda.cuGraphGetEdges(graph, nullptr, nullptr, &count), CUDA_SUCCESS);
  return count;
}

struct GraphProgram : Program {
  CUfunction kernel = function(kSpin, "spin");

  CUgraphExec instantiate(CUgraph graph, unsigned long long flags = 0) {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(cuGraphInstantiateWithFlags(&exec, graph, flags), CUDA_SUCCESS);
    return exec;
  }
  // Milliseconds that one launch takes.
  float time_of(CUgraphExec exec) {
    const CUstream own = stream();
    const CUevent begin = record(own);
    EXPECT_EQ(cuGraphLaunch(exec, own), CUDA_SUCCESS);
    const CUevent end = record(own);
    EXPECT_EQ(cuEventSynchronize(end), CUDA_SUCCESS);
    return between(begin, end);
  }
};

TEST(CudaGraph, ACapturedStreamDoesNothingUntilTheGraphIsLaunched) {
  const VirtualWorld world("l20");
  in_program([] {
    GraphProgram program;
    const CUstream stream = program.stream();
    const CUdeviceptr memory = program.allocate(4);
    void* pinned = nullptr;
    ASSERT_EQ(program.cuMemHostAlloc(&pinned, 4, 0), CUDA_SUCCESS);
    auto& word = *static_cast<unsigned*>(pinned);
    word = 1;
    int called = 0;
    EXPECT_EQ(program.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    EXPECT_EQ(program.spin(program.kernel, 3 * kMs, stream), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemsetD8Async(memory, 7, 4, stream), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemcpyDtoHAsync_v2(pinned, memory, 4, stream), CUDA_SUCCESS);
    EXPECT_EQ(program.cuLaunchHostFunc(
                  stream, [](void* count) { ++*static_cast<int*>(count); }, &called),
              CUDA_SUCCESS);
    CUgraph graph = nullptr;
    EXPECT_EQ(program.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    EXPECT_EQ(program.cuStreamQuery(stream), CUDA_SUCCESS);
    EXPECT_EQ(word, 1U);
    const auto nodes = nodes_of(program, graph);
    ASSERT_EQ(nodes.size(), 4U);
    EXPECT_EQ(edges_of(program, graph), 3U);
    const std::array<CUgraphNodeType, 4> types = {
        CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_MEMCPY,
        CU_GRAPH_NODE_TYPE_HOST};
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
      EXPECT_EQ(program.cuGraphNodeGetType(nodes[i], &type), CUDA_SUCCESS);
      EXPECT_EQ(type, types[i]);
    }
    const CUgraphExec exec = program.instantiate(graph);
    EXPECT_EQ(program.cuGraphDestroy(graph), CUDA_SUCCESS);
    for (int i = 1; i <= 3; ++i) {
      word = 1;
      EXPECT_FLOAT_EQ(program.time_of(exec), 3);
      EXPECT_EQ(word, 0x07070707U);
      EXPECT_EQ(called, i);
    }
    EXPECT_EQ(program.cuGraphExecDestroy(exec), CUDA_SUCCESS);
    EXPECT_EQ(program.cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST(CudaGraph, StreamsJoinACaptureByEvents) {
  const VirtualWorld world("l20");
  in_program([] {
    GraphProgram program;
    const CUstream a = program.stream();
    const CUstream b = program.stream();
    const CUevent fork = program.event();
    const CUevent join = program.event();
    const auto capture = [&](bool joined) {
      EXPECT_EQ(program.cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                CUDA_SUCCESS);
      program.spin(program.kernel, kMs, a);
      program.cuEventRecord(fork, a);
      program.cuStreamWaitEvent(b, fork, 0);
      program.spin(program.kernel, kMs, a);
      program.spin(program.kernel, kMs, b);
      EXPECT_EQ(program.cuEventQuery(fork), CUDA_ERROR_CAPTURED_EVENT);
      if (joined) {
        program.cuEventRecord(join, b);
        program.cuStreamWaitEvent(a, join, 0);
        program.spin(program.kernel, kMs, a);
      }
    };
    capture(true);
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    EXPECT_EQ(program.cuStreamIsCapturing(b, &status), CUDA_SUCCESS);
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CUgraph graph = nullptr;
    EXPECT_EQ(program.cuStreamEndCapture(b, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    EXPECT_EQ(program.cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    capture(true);
    EXPECT_EQ(program.cuStreamEndCapture(a, &graph), CUDA_SUCCESS);
    EXPECT_EQ(nodes_of(program, graph).size(), 4U);
    // A diamond: two after the first, the last after both.
    EXPECT_EQ(edges_of(program, graph), 4U);
    EXPECT_FLOAT_EQ(program.time_of(program.instantiate(graph)), 4);
    EXPECT_EQ(program.cuStreamQuery(b), CUDA_SUCCESS);
    capture(false);
    EXPECT_EQ(program.cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    EXPECT_EQ(graph, nullptr);
  });
}

TEST(CudaGraph, WhatACaptureForbids) {
  const VirtualWorld world("l20");
  in_program([] {
    GraphProgram program;
    const CUstream stream = program.stream();
    const CUstream blocking = program.stream(0);
    const CUevent before = program.record(stream);
    CUdeviceptr memory = 0;
    CUgraph graph = nullptr;
    const auto begin = [&](CUstream which, CUstreamCaptureMode mode) {
      EXPECT_EQ(program.cuStreamBeginCapture_v2(which, mode), CUDA_SUCCESS);
    };
    const auto invalidated = [&](CUstream which) {
      EXPECT_EQ(program.cuStreamEndCapture(which, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    };
    EXPECT_EQ(program.cuStreamBeginCapture_v2(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL),
              CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(program.cuStreamEndCapture(stream, &graph), CUDA_ERROR_ILLEGAL_STATE);
    // Waiting and querying.
    begin(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    EXPECT_EQ(program.cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(program.spin(program.kernel, 1, stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    invalidated(stream);
    // Allocating, except in relaxed mode, or for another thread when it is thread-local.
    begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    EXPECT_EQ(program.cuMemAlloc_v2(&memory, 1), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    invalidated(stream);
    begin(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    EXPECT_EQ(program.cuMemAlloc_v2(&memory, 1), CUDA_SUCCESS);
    EXPECT_EQ(program.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    begin(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    std::thread([&] {
      EXPECT_EQ(program.cuCtxSetCurrent(program.context), CUDA_SUCCESS);
      EXPECT_EQ(program.cuMemAlloc_v2(&memory, 1), CUDA_SUCCESS);
      EXPECT_EQ(program.cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    }).join();
    EXPECT_EQ(program.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    EXPECT_EQ(program.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
    EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    EXPECT_EQ(program.cuMemAlloc_v2(&memory, 1), CUDA_SUCCESS);
    EXPECT_EQ(program.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
    EXPECT_EQ(program.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    // Depending on work outside, or on it through stream 0.
    begin(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    EXPECT_EQ(program.cuStreamWaitEvent(stream, before, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    invalidated(stream);
    begin(blocking, CU_STREAM_CAPTURE_MODE_RELAXED);
    EXPECT_EQ(program.spin(program.kernel, 1, nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    invalidated(blocking);
    EXPECT_EQ(program.spin(program.kernel, 1, nullptr), CUDA_SUCCESS);
  });
}

CUDA_KERNEL_NODE_PARAMS_v2 kernel_node(CUfunction kernel, void** parameters) {
  return {.func = kernel,
          .gridDimX = 1,
          .gridDimY = 1,
          .gridDimZ = 1,
          .blockDimX = 32,
          .blockDimY = 1,
          .blockDimZ = 1,
          .kernelParams = parameters};
}

TEST(CudaGraph, IsPutTogetherByHandAndChanged) {
  const VirtualWorld world("l20");
  in_program([] {
    GraphProgram program;
    CUgraph graph = nullptr;
    ASSERT_EQ(program.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    std::uint64_t ns = 2 * kMs;
    void* parameters[] = {&ns};
    const auto description = kernel_node(program.kernel, parameters);
    std::array<CUgraphNode, 3> nodes = {};
    for (CUgraphNode& node : nodes) {
      EXPECT_EQ(program.cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &description),
                CUDA_SUCCESS);
    }
    EXPECT_EQ(program.cuGraphAddDependencies(graph, &nodes[2], &nodes[0], 1), CUDA_SUCCESS);
    EXPECT_EQ(program.cuGraphAddDependencies(graph, &nodes[2], &nodes[0], 1),
              CUDA_ERROR_INVALID_VALUE);
    // The parameters were taken when the node was made.
    ns = 0;
    CUDA_KERNEL_NODE_PARAMS_v2 told = {};
    EXPECT_EQ(program.cuGraphKernelNodeGetParams_v2(nodes[1], &told), CUDA_SUCCESS);
    EXPECT_EQ(told.blockDimX, 32U);
    EXPECT_EQ(*static_cast<std::uint64_t*>(told.kernelParams[0]), 2 * kMs);
    EXPECT_NE(told.func, nullptr);
    EXPECT_EQ(told.kern, nullptr);
    const CUgraphExec exec = program.instantiate(graph);
    EXPECT_FLOAT_EQ(program.time_of(exec), 6);
    ns = 10 * kMs;
    EXPECT_EQ(program.cuGraphExecKernelNodeSetParams_v2(exec, nodes[1], &description),
              CUDA_SUCCESS);
    EXPECT_FLOAT_EQ(program.time_of(exec), 14);
    // A cycle cannot run.
    EXPECT_EQ(program.cuGraphAddDependencies(graph, &nodes[0], &nodes[2], 1), CUDA_SUCCESS);
    CUgraphExec circle = nullptr;
    EXPECT_EQ(program.cuGraphInstantiateWithFlags(&circle, graph, 0), CUDA_ERROR_INVALID_VALUE);
    CUDA_GRAPH_INSTANTIATE_PARAMS result = {};
    EXPECT_EQ(program.cuGraphInstantiateWithParams(&circle, graph, &result),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(result.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
  });
}

// As documented: for a library's kernel its handle is reported, and no function.
TEST(CudaGraph, ANodeOfALibrarysKernelTellsTheKernel) {
  const World world("l20");
  in_program([] {
    Program program;
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    ASSERT_EQ(program.cuLibraryLoadData(&library, kSpin, nullptr, nullptr, 0, nullptr, nullptr, 0),
              CUDA_SUCCESS);
    ASSERT_EQ(program.cuLibraryGetKernel(&kernel, library, "spin"), CUDA_SUCCESS);
    CUgraph graph = nullptr;
    const CUstream stream = program.stream();
    EXPECT_EQ(program.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    EXPECT_EQ(program.spin(reinterpret_cast<CUfunction>(kernel), 1000, stream), CUDA_SUCCESS);
    EXPECT_EQ(program.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    CUgraphNode node = nullptr;
    std::size_t count = 1;
    EXPECT_EQ(program.cuGraphGetNodes(graph, &node, &count), CUDA_SUCCESS);
    CUDA_KERNEL_NODE_PARAMS_v2 told = {};
    EXPECT_EQ(program.cuGraphKernelNodeGetParams_v2(node, &told), CUDA_SUCCESS);
    EXPECT_EQ(told.func, nullptr);
    EXPECT_EQ(told.kern, kernel);
    EXPECT_EQ(told.ctx, program.context);
    // The reported parameters make the same node again.
    EXPECT_EQ(program.cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &told), CUDA_SUCCESS);
    EXPECT_EQ(program.cuGraphKernelNodeGetParams_v2(node, &told), CUDA_SUCCESS);
    EXPECT_EQ(told.kern, kernel);
  });
}

TEST(CudaGraph, IsUpdatedFromAnotherOfItsShape) {
  const VirtualWorld world("l20");
  in_program([] {
    GraphProgram program;
    const CUstream stream = program.stream();
    const auto capture = [&](std::initializer_list<std::uint64_t> durations) {
      CUgraph graph = nullptr;
      program.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
      for (const std::uint64_t ns : durations) program.spin(program.kernel, ns, stream);
      EXPECT_EQ(program.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
      return graph;
    };
    const CUgraphExec exec = program.instantiate(capture({kMs, 2 * kMs}));
    EXPECT_FLOAT_EQ(program.time_of(exec), 3);
    CUgraphExecUpdateResultInfo info = {};
    EXPECT_EQ(program.cuGraphExecUpdate_v2(exec, capture({5 * kMs, 6 * kMs}), &info), CUDA_SUCCESS);
    EXPECT_FLOAT_EQ(program.time_of(exec), 11);
    EXPECT_EQ(program.cuGraphExecUpdate_v2(exec, capture({kMs}), &info),
              CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    EXPECT_FLOAT_EQ(program.time_of(exec), 11);
  });
}

TEST(CudaGraph, ChildrenRunWithin) {
  const VirtualWorld world("l20");
  in_program([] {
    GraphProgram program;
    CUgraph child = nullptr;
    CUgraph parent = nullptr;
    ASSERT_EQ(program.cuGraphCreate(&child, 0), CUDA_SUCCESS);
    ASSERT_EQ(program.cuGraphCreate(&parent, 0), CUDA_SUCCESS);
    int count = 0;
    const CUDA_HOST_NODE_PARAMS_v1 host = {[](void* data) { ++*static_cast<int*>(data); }, &count};
    CUgraphNode node = nullptr;
    EXPECT_EQ(program.cuGraphAddHostNode(&node, child, nullptr, 0, &host), CUDA_SUCCESS);
    EXPECT_EQ(program.cuGraphAddChildGraphNode(&node, parent, nullptr, 0, child), CUDA_SUCCESS);
    EXPECT_EQ(program.cuGraphAddChildGraphNode(&node, parent, &node, 1, child), CUDA_SUCCESS);
    // Children are copies: later changes of the graph do not reach them.
    EXPECT_EQ(program.cuGraphDestroy(child), CUDA_SUCCESS);
    program.time_of(program.instantiate(parent));
    EXPECT_EQ(count, 2);
  });
}

TEST(CudaGraph, AllocatesAndFreesWithinALaunch) {
  const VirtualWorld world("l20");
  in_program([] {
    GraphProgram program;
    const CUstream stream = program.stream();
    const std::size_t free = program.free_bytes();
    CUdeviceptr address = 0;
    CUgraph graph = nullptr;
    program.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    EXPECT_EQ(program.cuMemAllocAsync(&address, 100 * kMiB, stream), CUDA_SUCCESS);
    EXPECT_NE(address, 0U);
    EXPECT_EQ(program.cuMemFreeAsync(address, stream), CUDA_SUCCESS);
    EXPECT_EQ(program.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    const CUgraphExec exec = program.instantiate(graph);
    EXPECT_EQ(program.free_bytes(), free);
    const auto attribute = [&](CUgraphMem_attribute which) {
      std::uint64_t value = 0;
      EXPECT_EQ(program.cuDeviceGetGraphMemAttribute(0, which, &value), CUDA_SUCCESS);
      return value;
    };
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(program.cuGraphLaunch(exec, stream), CUDA_SUCCESS);
      EXPECT_EQ(program.cuStreamSynchronize(stream), CUDA_SUCCESS);
      EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0U);
      EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 100 * kMiB);
    }
    EXPECT_EQ(program.free_bytes(), free - 100 * kMiB);
    EXPECT_EQ(program.cuDeviceGraphMemTrim(0), CUDA_SUCCESS);
    EXPECT_EQ(program.free_bytes(), free);
  });
}

}  // namespace
}  // namespace tranche::sim::cuda::test::graph_test
