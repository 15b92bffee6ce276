#pragma once
// Creation and destruction of contexts.

#include <cstdint>
#include <optional>

#include "sim/cuda/driver.h"

namespace tranche::sim::cuda {

struct ContextOptions {
  bool is_primary = false;
  std::optional<std::uint32_t> sm_count;  // execution affinity
};

// The driver's lock is held. On failure nothing is left: OUT_OF_MEMORY, DEVICE_UNAVAILABLE.
abi::CUresult make_context(Driver& driver, Device& device, const ContextOptions& options,
                           ContextPtr& out);
// Its work, streams, memory and modules are destroyed; its handles return CONTEXT_IS_DESTROYED. A
// primary one becomes inactive: it may stay current, and can be reactivated under the same handle.
void destroy_context(Driver& driver, const ContextPtr& context);

}  // namespace tranche::sim::cuda
