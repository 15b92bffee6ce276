#include "lab/demo/scheduler.h"

#include <fmt/format.h>

namespace tranche::demo {

Decision first_fit(std::span<const NodeRoom> nodes, const std::string& resource, int count) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].allocatable - nodes[i].held >= count) return {.node = i, .message = {}};
  }
  return {.node = std::nullopt,
          .message = fmt::format("0/{0} nodes are available: {0} Insufficient {1}.", nodes.size(),
                                 resource)};
}

}  // namespace tranche::demo
