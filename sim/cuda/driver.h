#pragma once
// The initialised driver of this process: its devices and everything created on them.
//
// Created by the first cuInit, never destroyed (other threads and exit handlers may still call). A
// forked child has no driver, as with the real one: its calls return NOT_INITIALIZED.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sim/cuda/address_space.h"
#include "sim/cuda/context.h"
#include "sim/cuda/device.h"
#include "sim/cuda/executor.h"
#include "sim/cuda/handles.h"
#include "sim/cuda/mps.h"
#include "sim/gpu/enumerate.h"
#include "sim/gpu/open_gpus.h"
#include "sim/state/clock.h"
#include "sim/state/simulation.h"

namespace tranche::sim::cuda {

struct ArrayObject;
struct Conditional;
struct Event;
struct Exec;
struct ExternalMemory;
struct Function;
struct Graph;
struct Kernel;
struct Library;
struct Mipmap;
struct Module;
struct Node;
struct Physical;
struct Pool;

struct Driver {
  Driver(std::shared_ptr<Simulation> simulation, ProcessSlot& process,
         std::unique_ptr<AddressSpace> addresses);

  std::mutex mutex;  // protects everything below
  std::shared_ptr<Simulation> sim;
  ProcessSlot& slot;
  Clock clock;
  std::unique_ptr<AddressSpace> space;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<OwnedFd> device_nodes;
  MpsClient mps;  // set before the devices are created; afterwards only its end changes it
  Executor executor;

  Table<Context, HandleKind::kContext> contexts;
  Table<Stream, HandleKind::kStream> streams;
  Table<Event, HandleKind::kEvent> events;
  Table<Module, HandleKind::kModule> modules;
  Table<Function, HandleKind::kFunction> functions;
  Table<Library, HandleKind::kLibrary> libraries;
  Table<Kernel, HandleKind::kKernel> kernels;
  Table<ArrayObject, HandleKind::kArray> arrays;
  Table<Mipmap, HandleKind::kMipmap> mipmaps;
  Table<Pool, HandleKind::kPool> pools;
  std::map<int, std::shared_ptr<Pool>> host_pools;  // the default ones, by NUMA node; -1: all nodes
  Table<Graph, HandleKind::kGraph> graphs;
  Table<Node, HandleKind::kNode> nodes;
  Table<Exec, HandleKind::kExec> execs;
  // By handle. Owned by graphs, nodes and work in progress.
  std::map<std::uint64_t, std::weak_ptr<Conditional>> conditionals;
  std::uint64_t last_conditional = 0;
  Table<ExternalMemory, HandleKind::kExternalMemory> external_memories;
  Table<Physical, HandleKind::kPhysical> physicals;
  std::uint64_t last_id = 0;  // of streams and captures
  bool loads_lazily =
      true;  // libraries load when a function is needed, functions when they are launched

  State& state() const { return sim->state(); }
  // Devices never change after cuInit: no lock is needed. nullptr: no such ordinal.
  Device* device(int ordinal) const;

  // The calling thread's current context. INVALID_CONTEXT without one, CONTEXT_IS_DESTROYED.
  abi::CUresult current_context(ContextPtr& out) const;
};

// The driver, or null before cuInit and in a forked child.
Driver* driver();
// cuInit. Repeated calls do nothing.
abi::CUresult initialise();
// CUDA version of the machine, 12080; works before cuInit. nullopt: there is no machine.
std::optional<std::uint32_t> machine_cuda_version();

// The calling thread's stack of contexts, by number.
std::vector<std::uint64_t>& context_stack();
// A number identifying the calling thread, never reused in the process.
std::uint64_t thread_number();

// One of a context's default streams, not in any table.
StreamPtr make_default_stream(Driver& driver, const ContextPtr& context, bool legacy);
// The stream that a handle refers to in `context`; 0, 1 and 2 are the default ones. null: no such
// stream.
StreamPtr find_stream(Driver& driver, const ContextPtr& context, abi::CUstream handle,
                      DefaultStream zero);

}  // namespace tranche::sim::cuda
