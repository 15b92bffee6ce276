#pragma once
// Values for what can happen in a stream, or be a node of a graph.

#include <cstddef>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "sim/cuda/abi_graph.h"

namespace tranche::sim::cuda {

struct ArrayObject;
struct Conditional;
struct Event;
struct Function;
struct Graph;
struct GraphMemory;
struct Kernel;

struct Extent {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;

  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

struct KernelWork {
  std::shared_ptr<Function> function;
  std::shared_ptr<Kernel> kernel;  // of a library, if it was requested by that handle
  Extent grid;
  Extent block;
  unsigned shared_bytes = 0;
  std::vector<std::byte> parameters;  // packed as declared by the function
  std::vector<void*> pointers;        // one for each parameter, into `parameters`
};

// One end of a copy: bytes in rows and layers.
struct CopySide {
  std::uint64_t address = 0;           // host or device
  std::shared_ptr<ArrayObject> array;  // instead of an address
  bool is_host = false;                // declared as such; unified addresses need no declaration
  std::size_t x_bytes = 0;
  std::size_t y = 0;
  std::size_t z = 0;
  std::size_t pitch = 0;   // bytes from row to row
  std::size_t height = 0;  // rows from layer to layer
};
struct CopyWork {
  CopySide source;
  CopySide destination;
  std::size_t width = 0;  // bytes
  std::size_t height = 1;
  std::size_t depth = 1;
  // Bytes of ordinary host memory, copied at the time of the call.
  std::shared_ptr<std::vector<std::byte>> staged;

  std::size_t bytes() const { return width * height * depth; }
};
struct SetWork {
  std::uint64_t address = 0;
  std::size_t pitch = 0;
  unsigned value = 0;
  unsigned element_bytes = 1;
  std::size_t width = 0;  // elements
  std::size_t height = 1;
};
struct HostWork {
  abi::CUhostFn function = nullptr;
  void* data = nullptr;
  abi::CUstreamCallback callback = nullptr;  // used instead, with the stream
  abi::CUstream stream = nullptr;
};
struct RecordWork {
  std::shared_ptr<Event> event;
};
struct WaitWork {
  std::shared_ptr<Event> event;
  bool is_external = false;
};
struct AllocWork {
  abi::CUDA_MEM_ALLOC_NODE_PARAMS_v1 parameters = {};
  std::shared_ptr<GraphMemory> memory;
};
struct FreeWork {
  std::uint64_t address = 0;
};
// A 32-bit word in memory: waited for, or written.
struct MemOpWork {
  bool is_wait = false;
  std::uint64_t address = 0;
  std::uint32_t value = 0;
  unsigned flags = 0;
};
struct ChildWork {
  std::shared_ptr<Graph> graph;
};
// One of several graphs, or one repeatedly, depending on the conditional's value.
struct ConditionalWork {
  std::shared_ptr<Conditional> conditional;
  abi::CUgraphConditionalNodeType type = abi::CU_GRAPH_COND_TYPE_IF;
  std::vector<std::shared_ptr<Graph>> bodies;
  std::shared_ptr<std::vector<abi::CUgraph>> told;  // their handles, which the program reads there
};
struct EmptyWork {};

using Work = std::variant<KernelWork, CopyWork, SetWork, HostWork, RecordWork, WaitWork, AllocWork,
                          FreeWork, MemOpWork, ChildWork, ConditionalWork, EmptyWork>;

}  // namespace tranche::sim::cuda
