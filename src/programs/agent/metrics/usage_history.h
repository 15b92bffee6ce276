#pragma once
// What a container's figures remember from one reading to the next: the largest use of memory, the
// GPU time estimated from the driver's samples, and its shares of the last minute. A container that
// is gone is forgotten.
//
// Used by one thread.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "agent/metrics/attributed_container.h"
#include "agent/metrics/usage_window.h"
#include "metrics/node_figures.h"

namespace tranche::agent {

class UsageHistory {
 public:
  // Completes the figures of one reading, which was at `now`.
  std::vector<usage::ContainerFigures> take(std::vector<AttributedContainer> containers,
                                            std::chrono::steady_clock::time_point now);

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string>;
  struct Usage {
    std::optional<std::uint64_t> peak{};
    std::chrono::nanoseconds estimated{0};
    bool is_estimate = false;  // what `compute` is of
    UsageWindow compute{};
    UsageWindow waited{};
  };
  static void add_shares(usage::ContainerFigures& figures, Usage& usage,
                         std::chrono::steady_clock::time_point now);

  std::map<Key, Usage> usage_;
};

}  // namespace tranche::agent
