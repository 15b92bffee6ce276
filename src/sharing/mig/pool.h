#pragma once
// Pools of nodes that should have one MIG layout each, as in the chart's migManager.pools:
//
// clang-format off
// Example (YAML):
//     pools:
//     - name: a100
//       nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB}
//       layout: all-1g.10gb
//       maxUnavailable: 1          # or "25%" of the pool's nodes, rounded down, at least 1
//       onFailure: stop            # or rollBack
//       rollBackTo: all-disabled   # for nodes that had no label; without it they keep theirs
//       acceptOutage: false
//       timeout: 30m               # a node that takes longer has failed
// clang-format on
//
// Pure.

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/metadata.h"

namespace tranche::mig {

struct Pool {
  enum class OnFailure { kStop, kRollBack };
  struct Budget {
    int number = 1;
    bool percent = false;  // of the pool's nodes
    bool operator==(const Budget&) const = default;
  };
  std::string name;
  cluster::StringMap node_selector;  // all of them
  std::string layout;
  Budget max_unavailable;
  OnFailure on_failure = OnFailure::kStop;
  std::string roll_back_to;  // "": none
  bool accept_outage = false;
  std::chrono::nanoseconds timeout = std::chrono::minutes(30);
  bool operator==(const Pool&) const = default;
};

// kInvalidArgument with every error, each with its line; an empty text is an error too.
Result<std::vector<Pool>> parse_pools(std::string_view text, std::string_view file_name);

// How many of `nodes` may be unavailable at once.
std::size_t allowed_away(const Pool::Budget& budget, std::size_t nodes);

}  // namespace tranche::mig
