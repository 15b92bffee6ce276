#pragma once
// A context: a process's state on one device, and its lane on the device's timeline.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/cuda/device.h"
#include "sim/cuda/heap.h"
#include "sim/cuda/overlap.h"
#include "sim/cuda/stream.h"

namespace tranche::sim::cuda {

struct Context {
  Context(Device& of, AddressSpace& space) : device(of), heap(of, space, {}) {}

  std::uint64_t number = 0;
  Device& device;
  std::uint64_t lane = 0;
  Overlap overlap;  // of kernels in its lane
  bool is_primary = false;
  bool destroyed = false;

  Heap heap;
  StreamPtr legacy;
  std::map<std::uint64_t, StreamPtr> per_thread;  // by thread
  std::map<std::uint64_t, StreamPtr> streams;     // made by cuStreamCreate, by number
  // For stack, printf's buffer and heap.
  static constexpr std::array<std::size_t, 3> kFirstSizes = {1024, std::size_t{1} << 20U,
                                                             std::size_t{8} << 20U};
  std::array<std::size_t, 7> limits = {
      kFirstSizes[0], kFirstSizes[1], kFirstSizes[2], 2, 2048, 64, 0};

  // Memory taken beyond the initial size, by limit: thread stacks (local memory), printf's buffer,
  // the kernels' heap. It grows and never shrinks while the context lives.
  std::array<std::shared_ptr<Block>, 3> grown;

  // Legacy, per-thread and explicitly created ones.
  std::vector<StreamPtr> all_streams() const;
};
using ContextPtr = std::shared_ptr<Context>;

}  // namespace tranche::sim::cuda
