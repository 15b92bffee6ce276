// Conditional nodes of graphs, in virtual time.

#include <vector>

#include "sim/cuda/support.h"

namespace tranche::sim::cuda::test::conditional_test {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
// A loop takes a little more than its body, for each check of the value.
constexpr float kLooks = 0.1F;

struct ConditionalProgram : Program {
  CUmodule module = load();
  CUfunction spinner = function(kSpin, "spin");
  CUgraph graph = new_graph();
  CUstream own = stream();

  CUmodule load() {
    CUmodule loaded = nullptr;
    EXPECT_EQ(cuModuleLoadData(&loaded, kSetters), CUDA_SUCCESS);
    return loaded;
  }
  CUfunction setter(const char* name) {
    CUfunction found = nullptr;
    EXPECT_EQ(cuModuleGetFunction(&found, module, name), CUDA_SUCCESS);
    return found;
  }
  CUgraph new_graph() {
    CUgraph made = nullptr;
    EXPECT_EQ(cuGraphCreate(&made, 0), CUDA_SUCCESS);
    return made;
  }
  CUgraphConditionalHandle handle(CUgraph of, unsigned value, unsigned flags) {
    CUgraphConditionalHandle made = 0;
    EXPECT_EQ(cuGraphConditionalHandleCreate(&made, of, context, value, flags), CUDA_SUCCESS);
    return made;
  }
  CUgraphConditionalHandle with_default(unsigned value) {
    return handle(graph, value, CU_GRAPH_COND_ASSIGN_DEFAULT);
  }
  CUgraphNodeParams parameters(CUgraphConditionalHandle which, CUgraphConditionalNodeType type,
                               unsigned size) const {
    CUgraphNodeParams made = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    made.conditional = {.handle = which, .type = type, .size = size, .ctx = context};
    return made;
  }
  CUresult add(CUgraph to, CUgraphNodeParams& node, CUgraphNode after = nullptr,
               CUgraphNode* out = nullptr) {
    CUgraphNode made = nullptr;
    return cuGraphAddNode_v2(out == nullptr ? &made : out, to, &after, nullptr,
                             after == nullptr ? 0 : 1, &node);
  }
  // The bodies of a new conditional node.
  std::vector<CUgraph> bodies(CUgraph to, CUgraphConditionalHandle which,
                              CUgraphConditionalNodeType type, unsigned size = 1,
                              CUgraphNode after = nullptr) {
    CUgraphNodeParams node = parameters(which, type, size);
    EXPECT_EQ(add(to, node, after), CUDA_SUCCESS);
    if (node.conditional.phGraph_out == nullptr) return std::vector<CUgraph>(size);
    return {node.conditional.phGraph_out, node.conditional.phGraph_out + size};
  }
  CUgraphNode kernel(CUgraph to, CUfunction function, std::vector<void*> arguments,
                     CUgraphNode after = nullptr) {
    CUgraphNodeParams node = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    node.kernel = {.func = function,
                   .gridDimX = 1,
                   .gridDimY = 1,
                   .gridDimZ = 1,
                   .blockDimX = 1,
                   .blockDimY = 1,
                   .blockDimZ = 1,
                   .kernelParams = arguments.data()};
    CUgraphNode made = nullptr;
    EXPECT_EQ(add(to, node, after, &made), CUDA_SUCCESS);
    return made;
  }
  CUgraphNode spins(CUgraph to, std::uint64_t ns, CUgraphNode after = nullptr) {
    return kernel(to, spinner, {&ns}, after);
  }
  CUgraphNode chooses(CUgraph to, CUgraphConditionalHandle which, unsigned value) {
    std::uint64_t ns = kMs;
    return kernel(to, setter("choose"), {&ns, &which, &value});
  }
  CUgraphNode counts_down(CUgraph to, CUgraphConditionalHandle which, CUdeviceptr word,
                          std::uint64_t ns = kMs) {
    return kernel(to, setter("count_down"), {&ns, &which, &word});
  }
  CUgraphExec instantiate() {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    return exec;
  }
  CUgraphInstantiateResult refused() {
    CUgraphExec exec = nullptr;
    CUDA_GRAPH_INSTANTIATE_PARAMS told = {};
    EXPECT_EQ(cuGraphInstantiateWithParams(&exec, graph, &told), CUDA_ERROR_INVALID_VALUE);
    return told.result_out;
  }
  // Milliseconds that one launch takes.
  float time_of(CUgraphExec exec) {
    const CUevent begin = record(own);
    EXPECT_EQ(cuGraphLaunch(exec, own), CUDA_SUCCESS);
    const CUevent end = record(own);
    EXPECT_EQ(cuEventSynchronize(end), CUDA_SUCCESS);
    return between(begin, end);
  }
  void set(CUdeviceptr word, unsigned value) {
    EXPECT_EQ(cuMemcpyHtoD_v2(word, &value, sizeof value), CUDA_SUCCESS);
  }
};

TEST(CudaConditional, IfRunsTheBodyThatTheValueNames) {
  const VirtualWorld world("l20");
  in_program([] {
    struct Case {
      const char* name;
      unsigned value;
      unsigned size;
      float ms;
    };
    for (const Case& one : std::to_array<Case>({{"true", 7, 1, 4},
                                                {"false without an else", 0, 1, 1},
                                                {"true with an else", 1, 2, 4},
                                                {"false with an else", 0, 2, 6}})) {
      SCOPED_TRACE(one.name);
      ConditionalProgram program;
      const auto handle = program.handle(program.graph, 0, 0);
      const CUgraphNode chosen = program.chooses(program.graph, handle, one.value);
      const auto bodies =
          program.bodies(program.graph, handle, CU_GRAPH_COND_TYPE_IF, one.size, chosen);
      program.spins(bodies.front(), 3 * kMs);
      if (one.size == 2) program.spins(bodies.back(), 5 * kMs);
      EXPECT_FLOAT_EQ(program.time_of(program.instantiate()), one.ms);
    }
  });
}

TEST(CudaConditional, WhileRepeatsItsBodyUntilTheValueIsNothing) {
  const VirtualWorld world("l20");
  in_program([] {
    ConditionalProgram program;
    const CUdeviceptr word = program.allocate(4);
    const auto handle = program.with_default(1);
    const auto bodies = program.bodies(program.graph, handle, CU_GRAPH_COND_TYPE_WHILE);
    const CUgraphNode first = program.spins(bodies.front(), 2 * kMs);
    std::uint64_t ns = kMs;
    CUgraphConditionalHandle set = handle;
    CUdeviceptr counter = word;
    program.kernel(bodies.front(), program.setter("count_down"), {&ns, &set, &counter}, first);
    const CUgraphExec exec = program.instantiate();
    for (const unsigned count : {1U, 5U, 20U}) {
      program.set(word, count);
      EXPECT_NEAR(program.time_of(exec), 3.0F * static_cast<float>(count), kLooks);
      unsigned left = 1;
      EXPECT_EQ(program.cuMemcpyDtoH_v2(&left, word, sizeof left), CUDA_SUCCESS);
      EXPECT_EQ(left, 0U);
    }
    // Later work of the stream, and launches of it in other streams, wait for all of it.
    program.set(word, 4);
    const CUstream other = program.stream();
    const CUevent begin = program.record(program.own);
    EXPECT_EQ(program.cuGraphLaunch(exec, program.own), CUDA_SUCCESS);
    EXPECT_EQ(program.cuStreamQuery(program.own), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(program.cuGraphLaunch(exec, other), CUDA_SUCCESS);
    const CUevent end = program.record(other);
    EXPECT_EQ(program.cuEventSynchronize(end), CUDA_SUCCESS);
    EXPECT_EQ(program.cuStreamQuery(program.own), CUDA_SUCCESS);
    EXPECT_NEAR(program.between(begin, end), 15.0F, kLooks);
  });
}

TEST(CudaConditional, SwitchRunsTheBodyOfTheValueOrNone) {
  const VirtualWorld world("l20");
  in_program([] {
    ConditionalProgram program;
    const CUdeviceptr word = program.allocate(4);
    const auto handle = program.handle(program.graph, 0, 0);
    std::uint64_t ns = kMs;
    CUgraphConditionalHandle set = handle;
    CUdeviceptr read = word;
    const CUgraphNode looked =
        program.kernel(program.graph, program.setter("look"), {&ns, &set, &read});
    const auto bodies = program.bodies(program.graph, handle, CU_GRAPH_COND_TYPE_SWITCH, 3, looked);
    for (unsigned i = 0; i < 3; ++i) program.spins(bodies[i], (i + 1) * 10 * kMs);
    const CUgraphExec exec = program.instantiate();
    const std::array<float, 5> ms = {11, 21, 31, 1, 1};
    for (unsigned value = 0; value < ms.size(); ++value) {
      program.set(word, value);
      EXPECT_FLOAT_EQ(program.time_of(exec), ms[value]) << value;
    }
  });
}

TEST(CudaConditional, BodiesAreCapturedCopyAndNest) {
  const VirtualWorld world("l20");
  in_program([] {
    ConditionalProgram program;
    const CUdeviceptr outer_word = program.allocate(4);
    const CUdeviceptr inner_word = program.allocate(4);
    const auto outer = program.with_default(1);
    const auto inner = program.handle(program.graph, 0, 0);
    const auto outer_body = program.bodies(program.graph, outer, CU_GRAPH_COND_TYPE_WHILE).front();
    // Each turn of the outer loop sets the inner one's counter to three.
    CUgraph same = nullptr;
    EXPECT_EQ(program.cuStreamBeginCaptureToGraph(program.own, outer_body, nullptr, nullptr, 0,
                                                  CU_STREAM_CAPTURE_MODE_RELAXED),
              CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemsetD32Async(inner_word, 3, 1, program.own), CUDA_SUCCESS);
    EXPECT_EQ(program.cuStreamEndCapture(program.own, &same), CUDA_SUCCESS);
    EXPECT_EQ(same, outer_body);
    CUgraphNode last = nullptr;
    std::size_t count = 1;
    EXPECT_EQ(program.cuGraphGetNodes(outer_body, &last, &count), CUDA_SUCCESS);
    std::uint64_t ns = 0;
    CUgraphConditionalHandle which = inner;
    CUdeviceptr word = inner_word;
    last = program.kernel(outer_body, program.setter("look"), {&ns, &which, &word}, last);
    CUgraphNodeParams loop = program.parameters(inner, CU_GRAPH_COND_TYPE_WHILE, 1);
    EXPECT_EQ(program.add(outer_body, loop, last, &last), CUDA_SUCCESS);
    ASSERT_NE(loop.conditional.phGraph_out, nullptr);
    program.counts_down(loop.conditional.phGraph_out[0], inner, inner_word);
    which = outer;
    word = outer_word;
    program.kernel(outer_body, program.setter("count_down"), {&ns, &which, &word}, last);
    const CUgraphExec exec = program.instantiate();
    EXPECT_EQ(program.cuGraphDestroy(program.graph), CUDA_SUCCESS);
    EXPECT_EQ(program.cuGraphDestroy(outer_body), CUDA_ERROR_INVALID_VALUE);
    program.set(outer_word, 4);
    EXPECT_NEAR(program.time_of(exec), 12.0F, kLooks);
    EXPECT_EQ(program.cuGraphExecDestroy(exec), CUDA_SUCCESS);
  });
}

TEST(CudaConditional, WhatIsNoConditionalNodeIsRefused) {
  const World world("l20");
  in_program([] {
    ConditionalProgram program;
    CUgraphConditionalHandle none = 0;
    EXPECT_EQ(program.cuGraphConditionalHandleCreate(nullptr, program.graph, program.context, 0, 0),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(program.cuGraphConditionalHandleCreate(&none, nullptr, program.context, 0, 0),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(program.cuGraphConditionalHandleCreate(&none, program.graph, program.context, 0, 2),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(program.cuGraphConditionalHandleCreate(&none, program.graph, nullptr, 0, 0),
              CUDA_ERROR_INVALID_VALUE);
    const auto handle = program.with_default(1);
    const auto refused = [&](CUgraph to, CUgraphNodeParams node) {
      EXPECT_EQ(program.add(to, node), CUDA_ERROR_INVALID_VALUE);
    };
    refused(program.graph, program.parameters(handle + 1, CU_GRAPH_COND_TYPE_IF, 1));
    refused(program.graph, program.parameters(handle, CU_GRAPH_COND_TYPE_IF, 0));
    refused(program.graph, program.parameters(handle, CU_GRAPH_COND_TYPE_IF, 3));
    refused(program.graph, program.parameters(handle, CU_GRAPH_COND_TYPE_WHILE, 2));
    refused(program.graph, program.parameters(handle, CU_GRAPH_COND_TYPE_SWITCH, 0));
    refused(program.graph,
            program.parameters(handle, static_cast<CUgraphConditionalNodeType>(3), 1));
    refused(program.new_graph(), program.parameters(handle, CU_GRAPH_COND_TYPE_IF, 1));
    CUgraphNodeParams elsewhere = program.parameters(handle, CU_GRAPH_COND_TYPE_IF, 1);
    elsewhere.conditional.ctx = nullptr;
    refused(program.graph, elsewhere);
    // A handle without a node.
    EXPECT_EQ(program.refused(), CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED);
    program.bodies(program.graph, handle, CU_GRAPH_COND_TYPE_IF);
    // One handle, one node.
    refused(program.graph, program.parameters(handle, CU_GRAPH_COND_TYPE_IF, 1));
    // Not in a child, and one executable at a time.
    CUgraphNode node = nullptr;
    EXPECT_EQ(
        program.cuGraphAddChildGraphNode(&node, program.new_graph(), nullptr, 0, program.graph),
        CUDA_ERROR_INVALID_VALUE);
    const CUgraphExec exec = program.instantiate();
    program.refused();
    EXPECT_EQ(program.cuGraphExecDestroy(exec), CUDA_SUCCESS);
    program.instantiate();
  });
}

TEST(CudaConditional, ABodyHoldsKernelsAndCopiesAlone) {
  const World world("l20");
  in_program([] {
    for (const bool allocates : {false, true}) {
      ConditionalProgram program;
      const auto handle = program.with_default(0);
      const auto body = program.bodies(program.graph, handle, CU_GRAPH_COND_TYPE_IF).front();
      EXPECT_EQ(program.cuStreamBeginCaptureToGraph(program.own, body, nullptr, nullptr, 0,
                                                    CU_STREAM_CAPTURE_MODE_RELAXED),
                CUDA_SUCCESS);
      CUdeviceptr address = 0;
      if (allocates) {
        EXPECT_EQ(program.cuMemAllocAsync(&address, kMiB, program.own), CUDA_SUCCESS);
      } else {
        EXPECT_EQ(program.cuLaunchHostFunc(program.own, [](void*) {}, nullptr), CUDA_SUCCESS);
      }
      CUgraph same = nullptr;
      EXPECT_EQ(program.cuStreamEndCapture(program.own, &same), CUDA_SUCCESS);
      EXPECT_EQ(program.refused(), CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
    }
  });
}

TEST(CudaConditional, AnUpdateReachesBodiesAndKeepsTheNode) {
  const VirtualWorld world("l20");
  in_program([] {
    ConditionalProgram program;
    const auto build = [&](std::uint64_t ns, unsigned value, CUgraphConditionalNodeType type) {
      program.graph = program.new_graph();
      const auto handle = program.with_default(value);
      const auto body = program.bodies(program.graph, handle, type).front();
      program.spins(body, ns);
      return program.graph;
    };
    build(2 * kMs, 1, CU_GRAPH_COND_TYPE_IF);
    const CUgraphExec exec = program.instantiate();
    EXPECT_FLOAT_EQ(program.time_of(exec), 2);
    CUgraphExecUpdateResultInfo info = {};
    EXPECT_EQ(program.cuGraphExecUpdate_v2(exec, build(5 * kMs, 1, CU_GRAPH_COND_TYPE_IF), &info),
              CUDA_SUCCESS);
    EXPECT_FLOAT_EQ(program.time_of(exec), 5);
    EXPECT_EQ(program.cuGraphExecUpdate_v2(exec, build(5 * kMs, 0, CU_GRAPH_COND_TYPE_IF), &info),
              CUDA_SUCCESS);
    EXPECT_FLOAT_EQ(program.time_of(exec), 0);
    EXPECT_EQ(program.cuGraphExecUpdate_v2(exec, build(kMs, 1, CU_GRAPH_COND_TYPE_SWITCH), &info),
              CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
    const CUgraph longer = build(kMs, 1, CU_GRAPH_COND_TYPE_IF);
    CUgraphNode node = nullptr;
    std::size_t count = 1;
    EXPECT_EQ(program.cuGraphGetNodes(longer, &node, &count), CUDA_SUCCESS);
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    EXPECT_EQ(program.cuGraphNodeGetType(node, &type), CUDA_SUCCESS);
    EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_CONDITIONAL);
  });
}

TEST(CudaConditional, ALaunchOutlivesItsExecutableGraph) {
  const VirtualWorld world("l20");
  in_program([] {
    ConditionalProgram program;
    const CUdeviceptr word = program.allocate(4);
    const auto handle = program.with_default(1);
    program.counts_down(program.bodies(program.graph, handle, CU_GRAPH_COND_TYPE_WHILE).front(),
                        handle, word);
    const CUgraphExec exec = program.instantiate();
    program.set(word, 5);
    const CUevent begin = program.record(program.own);
    EXPECT_EQ(program.cuGraphLaunch(exec, program.own), CUDA_SUCCESS);
    const CUevent end = program.record(program.own);
    EXPECT_EQ(program.cuGraphExecDestroy(exec), CUDA_SUCCESS);
    EXPECT_EQ(program.cuGraphDestroy(program.graph), CUDA_SUCCESS);
    EXPECT_EQ(program.cuEventSynchronize(end), CUDA_SUCCESS);
    EXPECT_NEAR(program.between(begin, end), 5.0F, kLooks);
  });
}

TEST(CudaConditional, ALoopThatNobodyEndsLeavesTheProgramAlone) {
  const World world("l20");
  in_program([] {
    ConditionalProgram program;
    program.bodies(program.graph, program.with_default(1), CU_GRAPH_COND_TYPE_WHILE);
    const CUgraphExec exec = program.instantiate();
    EXPECT_EQ(program.cuGraphLaunch(exec, program.own), CUDA_SUCCESS);
    const CUevent elsewhere = program.record(program.stream());
    EXPECT_EQ(program.cuEventSynchronize(elsewhere), CUDA_SUCCESS);
    EXPECT_EQ(program.cuStreamQuery(program.own), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(program.cuCtxDestroy_v2(program.context), CUDA_SUCCESS);
  });
}

TEST(CudaConditional, ALaunchIsNotCaptured) {
  const World world("l20");
  in_program([] {
    ConditionalProgram program;
    program.bodies(program.graph, program.with_default(0), CU_GRAPH_COND_TYPE_IF);
    const CUgraphExec exec = program.instantiate();
    EXPECT_EQ(program.cuStreamBeginCapture_v2(program.own, CU_STREAM_CAPTURE_MODE_RELAXED),
              CUDA_SUCCESS);
    EXPECT_EQ(program.cuGraphLaunch(exec, program.own), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  });
}

}  // namespace
}  // namespace tranche::sim::cuda::test::conditional_test
