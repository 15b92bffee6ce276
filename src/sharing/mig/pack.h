#pragma once
// Packs many instances on as few GPUs of one model as can be. Pure.

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
  // No fewer GPUs can hold them. False: it is not known, the search was given up.
  bool fewest = true;

  std::size_t gpus() const;
  bool operator==(const Packing&) const = default;
};

// kInvalidArgument: a name that is no profile of the model, as instances_of() says it, or one that
// no GPU can hold. The search is exhaustive for a few GPUs; it is given up for many, where each GPU
// in turn takes what fills it best. GPUs are all alike where that needs no more of them.
Result<Packing> pack(const GpuWish& wish, const gpu::MigGeometry& geometry);

}  // namespace tranche::mig
