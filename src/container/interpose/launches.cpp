// Kernels, graphs, copies: what passes the gate, and what ends a batch.

#include "interpose/launches.h"

#include "interpose/driver.h"
#include "interpose/exports.h"
#include "interpose/failures.h"
#include "interpose/gate.h"
#include "interpose/memory.h"
#include "interpose/pools.h"
#include "interpose/unreported.h"

using namespace tranche::interpose;

namespace tranche::interpose {
namespace {

// What a graph takes of memory when it is uploaded or launched, by its executable.
struct GraphMemory {
  std::uint64_t bytes;
  int device;  // of its nodes; of several devices the last
};
Blocks<GraphMemory> graph_memory;

Stream stream_of(const void* config) {
  return config != nullptr ? static_cast<const LaunchConfig*>(config)->stream : nullptr;
}
template <class Function>
const void* own_key(Function* function) {
  return reinterpret_cast<const void*>(function);
}

// Adds what all its nodes allocate, with its children's. Bodies of conditional nodes allocate
// nothing: the driver allows no memory nodes there (cuda.h at CUDA_CONDITIONAL_NODE_PARAMS).
void add_memory_of(void* graph, unsigned depth, GraphMemory& sum) {
  constexpr size_t kNodes = 4096;
  constexpr unsigned kDepth = 8;
  size_t count = 0;
  if (depth == kDepth || driver.cuGraphGetNodes(graph, nullptr, &count) != kSuccess || count == 0)
    return;
  const size_t size = (count < kNodes * 64 ? count : kNodes * 64) * sizeof(void*);
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  auto** nodes = static_cast<void**>(memory);
  count = size / sizeof(void*);
  if (driver.cuGraphGetNodes(graph, nodes, &count) != kSuccess) count = 0;
  for (size_t i = 0; i < count; ++i) {
    int type = 0;
    if (driver.cuGraphNodeGetType(nodes[i], &type) != kSuccess) continue;
    if (type == kNodeMemAlloc) {
      MemAllocNodeParameters parameters{};
      if (driver.cuGraphMemAllocNodeGetParams(nodes[i], &parameters) != kSuccess) continue;
      sum.bytes = limit::wire::add(sum.bytes, parameters.bytes);
      if (device_of(parameters.pool.location) >= 0) {
        sum.device = device_of(parameters.pool.location);
      }
    } else if (type == kNodeGraph) {
      void* child = nullptr;
      if (driver.cuGraphChildGraphNodeGetGraph(nodes[i], static_cast<void*>(&child)) == kSuccess) {
        add_memory_of(child, depth + 1, sum);
      }
    }
  }
  munmap(memory, size);
}

int instantiated(int status, void* exec, void* graph) {
  if (status != kSuccess || !has_tenants()) return status;
  GraphMemory memory{};
  add_memory_of(graph, 0, memory);
  const auto key = *static_cast<std::uint64_t*>(exec);
  GraphMemory before{};
  if (memory.bytes != 0) {
    graph_memory.put(key, memory);
  } else {
    graph_memory.take(key, before);
  }
  return status;
}

// `call` makes the driver take the graph's memory, if not done yet.
template <class Call>
int with_memory(void* exec, Call call) {
  GraphMemory memory{};
  const bool allocates =
      tranche_is_gated.load(std::memory_order_relaxed) &&
      graph_memory.with(reinterpret_cast<std::uint64_t>(exec), [&](const GraphMemory& known) {
        memory = known;
        return true;
      });
  if (!allocates) return call();
  part_to_charge(memory.device);
  PoolCharge charge(nullptr, memory.device, memory.bytes, take);
  if (!charge.is_granted()) return kOutOfMemory;
  const int status = call();
  // What exceeds its nodes' requests cannot be returned: it is charged anyway.
  if (status == kSuccess) charge.settle();
  return status;
}

template <class Launch>
int launch_graph(void* exec, void* stream, bool twin, Launch launch) {
  return gated(stream, twin, exec, [&] { return with_memory(exec, launch); });
}

// Excludes unloading, and setting a context's limits, which may lower them.
constexpr bool is_load(const char* name) { return __builtin_strstr(name, "Load") != nullptr; }

// The function that unloads it; nullptr: none can.
int (*unloader_of(const char* name))(void*) {
  if (__builtin_strstr(name, "ModuleLoad") != nullptr) return driver.cuModuleUnload;
  if (__builtin_strstr(name, "LibraryLoad") != nullptr) return driver.cuLibraryUnload;
  return nullptr;
}

const Part* gated_part() {
  return tranche_is_gated.load(std::memory_order_relaxed) ? current_part() : nullptr;
}

bool is_full() {
  const Part* part = gated_part();
  if (part == nullptr || !is_over(*part)) return false;
  note_refused(*part, 0);
  return true;
}

// The memory of loaded code is known once NVML has reported it; what is too much is unloaded again.
int unload_what_is_too_much(const char* name, void* loaded) {
  const auto unload = unloader_of(name);
  if (unload == nullptr || loaded == nullptr || !is_full()) return kSuccess;
  const FreeMemory memory(gated_part());
  if (unload(*static_cast<void**>(loaded)) != kSuccess) return kSuccess;
  memory.note();
  tell_of_memory();
  return kOutOfMemory;
}
int unload_what_is_too_much(const char*, unsigned) { return kSuccess; }  // a limit was set

template <class First, class... Rest>
First first_of(First first, Rest...) {
  return first;
}

}  // namespace

void forget_graphs() { graph_memory.reset(); }

}  // namespace tranche::interpose

#define OWN(symbol, name, version, twin, parameters)
// A synchronous copy has ended its batch.
#define GATED(symbol, name, version, twin, stream, parameters, arguments)                 \
  int symbol parameters {                                                                 \
    const int status =                                                                    \
        gated(stream, twin, own_key(&::symbol), [&] { return driver.symbol arguments; }); \
    if (!__builtin_strstr(#name, "Async")) close_batches_of(stream, twin);                \
    return status;                                                                        \
  }
#define LOADS(symbol, name, version, twin, parameters, arguments) \
  int symbol parameters {                                         \
    if (is_load(#name) && is_full()) return kOutOfMemory;         \
    const FreeMemory memory(gated_part());                        \
    const int status = driver.symbol arguments;                   \
    if (status != kSuccess) return status;                        \
    memory.note();                                                \
    tell_of_memory();                                             \
    return unload_what_is_too_much(#name, first_of arguments);    \
  }
#define LATER(symbol, name, version, twin, parameters, arguments) \
  int symbol parameters {                                         \
    close_all_batches();                                          \
    return driver.symbol arguments;                               \
  }
// The stream may wait for the host or another process: that is no GPU time.
#define HOLDS(symbol, name, version, twin, stream, parameters, arguments) \
  int symbol parameters {                                                 \
    close_batches_of(stream, twin);                                       \
    return driver.symbol arguments;                                       \
  }
#include "interpose/symbols.def"
#undef OWN
#undef GATED
#undef LOADS
#undef LATER
#undef HOLDS

// Each in two parts: the usual way, which ends in a jump and saves no register, and pass_slowly().
// On x86-64 the compiler moves stack arguments to and fro, which is half of a launch's cost here,
// so there the usual way is launch_amd64.S.
#if defined(__x86_64__)
#define USUAL_WAY(symbol, twin, stream, what, parameters, arguments)
#else
#define USUAL_WAY(symbol, twin, stream, what, parameters, arguments)       \
  int symbol parameters {                                                  \
    const bool is_open = passes(stream, twin, what);                       \
    if (__builtin_expect(is_open, 1) != 0) return driver.symbol arguments; \
    return tranche_slow_##symbol arguments;                                \
  }
#endif
#define LAUNCH(symbol, twin, stream, what, parameters, arguments)                 \
  extern "C" [[gnu::noinline, gnu::cold,                                          \
               gnu::visibility("hidden")]] int tranche_slow_##symbol parameters { \
    const Passage passage = pass_slowly(stream, twin, what);                      \
    const int status = driver.symbol arguments;                                   \
    launched(passage, status == kSuccess);                                        \
    return status;                                                                \
  }                                                                               \
  USUAL_WAY(symbol, twin, stream, what, parameters, arguments)

LAUNCH(cuLaunchKernel, false, stream, function,
       (void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
        unsigned bz, unsigned shared, void* stream, void* parameters, void* extra),
       (function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra))
LAUNCH(cuLaunchKernel_ptsz, true, stream, function,
       (void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
        unsigned bz, unsigned shared, void* stream, void* parameters, void* extra),
       (function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra))
LAUNCH(cuLaunchCooperativeKernel, false, stream, function,
       (void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
        unsigned bz, unsigned shared, void* stream, void* parameters),
       (function, gx, gy, gz, bx, by, bz, shared, stream, parameters))
LAUNCH(cuLaunchCooperativeKernel_ptsz, true, stream, function,
       (void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
        unsigned bz, unsigned shared, void* stream, void* parameters),
       (function, gx, gy, gz, bx, by, bz, shared, stream, parameters))
// Without a configuration the driver refuses.
LAUNCH(cuLaunchKernelEx, false, stream_of(config), function,
       (void* config, void* function, void* parameters, void* extra),
       (config, function, parameters, extra))
LAUNCH(cuLaunchKernelEx_ptsz, true, stream_of(config), function,
       (void* config, void* function, void* parameters, void* extra),
       (config, function, parameters, extra))
#undef LAUNCH
#undef USUAL_WAY

// The first CUDA's; the first two are for stream 0.
int cuLaunch(void* function) {
  return gated(nullptr, false, function, [&] { return driver.cuLaunch(function); });
}
int cuLaunchGrid(void* function, int width, int height) {
  return gated(nullptr, false, function,
               [&] { return driver.cuLaunchGrid(function, width, height); });
}
int cuLaunchGridAsync(void* function, int width, int height, void* stream) {
  return gated(stream, false, function,
               [&] { return driver.cuLaunchGridAsync(function, width, height, stream); });
}

int cuLaunchCooperativeKernelMultiDevice(void* launches, unsigned count, unsigned flags) {
  const auto* each = static_cast<const MultiDeviceLaunch*>(launches);
  constexpr unsigned kMost = 32;  // more devices than a machine has
  Passage passages[kMost] = {};
  for (unsigned i = 0; each != nullptr && i < count && i < kMost; ++i) {
    if (passes(each[i].stream, false, each[i].function)) continue;
    passages[i] = pass_slowly(each[i].stream, false, each[i].function);
  }
  const int status = driver.cuLaunchCooperativeKernelMultiDevice(launches, count, flags);
  for (const Passage& passage : passages) launched(passage, status == kSuccess);
  return status;
}

int cuGraphLaunch(void* exec, void* stream) {
  return launch_graph(exec, stream, false, [&] { return driver.cuGraphLaunch(exec, stream); });
}
int cuGraphLaunch_ptsz(void* exec, void* stream) {
  return launch_graph(exec, stream, true, [&] { return driver.cuGraphLaunch_ptsz(exec, stream); });
}

int cuGraphUpload(void* exec, void* stream) {
  return with_memory(exec, [&] { return driver.cuGraphUpload(exec, stream); });
}
int cuGraphUpload_ptsz(void* exec, void* stream) {
  return with_memory(exec, [&] { return driver.cuGraphUpload_ptsz(exec, stream); });
}

int cuGraphInstantiate(void* exec, void* graph, void* node, void* log, size_t size) {
  return instantiated(driver.cuGraphInstantiate(exec, graph, node, log, size), exec, graph);
}
int cuGraphInstantiate_v2(void* exec, void* graph, void* node, void* log, size_t size) {
  return instantiated(driver.cuGraphInstantiate_v2(exec, graph, node, log, size), exec, graph);
}
int cuGraphInstantiateWithFlags(void* exec, void* graph, std::uint64_t flags) {
  return instantiated(driver.cuGraphInstantiateWithFlags(exec, graph, flags), exec, graph);
}
int cuGraphInstantiateWithParams(void* exec, void* graph, void* parameters) {
  return instantiated(driver.cuGraphInstantiateWithParams(exec, graph, parameters), exec, graph);
}
int cuGraphInstantiateWithParams_ptsz(void* exec, void* graph, void* parameters) {
  return instantiated(driver.cuGraphInstantiateWithParams_ptsz(exec, graph, parameters), exec,
                      graph);
}
int cuGraphExecDestroy(void* exec) {
  GraphMemory memory{};
  graph_memory.take(reinterpret_cast<std::uint64_t>(exec), memory);
  const int status = driver.cuGraphExecDestroy(exec);
  if (memory.bytes != 0) settle_pools();
  return status;
}

int cuStreamDestroy(void* stream) {
  forget_stream(stream);
  return driver.cuStreamDestroy(stream);
}
int cuStreamDestroy_v2(void* stream) {
  forget_stream(stream);
  return driver.cuStreamDestroy_v2(stream);
}

// ---- captures

namespace {

// Batches end first: their events must not become the graph's.
template <class Call>
int begin_capture(Stream stream, bool twin, Call call) {
  close_batches_of(stream, twin);
  return call();
}

}  // namespace

int cuStreamBeginCapture(void* stream) {
  return begin_capture(stream, false, [&] { return driver.cuStreamBeginCapture(stream); });
}
int cuStreamBeginCapture_ptsz(void* stream) {
  return begin_capture(stream, true, [&] { return driver.cuStreamBeginCapture_ptsz(stream); });
}
int cuStreamBeginCapture_v2(void* stream, unsigned mode) {
  return begin_capture(stream, false, [&] { return driver.cuStreamBeginCapture_v2(stream, mode); });
}
int cuStreamBeginCapture_v2_ptsz(void* stream, unsigned mode) {
  return begin_capture(stream, true,
                       [&] { return driver.cuStreamBeginCapture_v2_ptsz(stream, mode); });
}
int cuStreamBeginCaptureToGraph(void* stream, void* graph, void* after, void* data, size_t count,
                                unsigned mode) {
  return begin_capture(stream, false, [&] {
    return driver.cuStreamBeginCaptureToGraph(stream, graph, after, data, count, mode);
  });
}
int cuStreamBeginCaptureToGraph_ptsz(void* stream, void* graph, void* after, void* data,
                                     size_t count, unsigned mode) {
  return begin_capture(stream, true, [&] {
    return driver.cuStreamBeginCaptureToGraph_ptsz(stream, graph, after, data, count, mode);
  });
}
int cuStreamBeginRecaptureToGraph(void* stream, unsigned mode, void* graph, void* callback,
                                  void* data) {
  return begin_capture(stream, false, [&] {
    return driver.cuStreamBeginRecaptureToGraph(stream, mode, graph, callback, data);
  });
}
int cuStreamBeginRecaptureToGraph_ptsz(void* stream, unsigned mode, void* graph, void* callback,
                                       void* data) {
  return begin_capture(stream, true, [&] {
    return driver.cuStreamBeginRecaptureToGraph_ptsz(stream, mode, graph, callback, data);
  });
}
