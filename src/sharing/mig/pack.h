#pragma once
// Packs many instances on as few GPUs of one model as possible. Pure.

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "gpu/mig_profile.h"
#include "mig/layout.h"

namespace tranche::mig {

struct Packing {
  // GPUs with the same layout, most instances of large profiles first.
  struct Alike {
    GpuLayout layout;
    std::size_t gpus = 0;
    bool operator==(const Alike&) const = default;
  };
  std::vector<Alike> layouts;
  // No fewer GPUs can hold them. False: unknown, the search was abandoned.
  bool fewest = true;

  std::size_t gpus() const;
  bool operator==(const Packing&) const = default;
};

// kInvalidArgument: a name that is not a profile of the model (see instances_of()), or one that no
// GPU can hold. The search is exhaustive for a few GPUs; for many it is abandoned, and each GPU in
// turn takes its best filling. GPUs are all alike where that needs no more of them.
Result<Packing> pack(const GpuWish& wish, const gpu::MigGeometry& geometry);

}  // namespace tranche::mig
