#pragma once
// What a container's figures remember from one reading to the next: the largest use of memory, and
// the GPU time estimated from the driver's samples. A container that is gone is forgotten.
//
// Used by one thread.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "agent/metrics/attribution.h"
#include "metrics/node_figures.h"

namespace tranche::agent {

class UsageHistory {
 public:
  // Completes the figures of one reading.
  std::vector<usage::ContainerFigures> take(std::vector<AttributedContainer> containers);

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string>;
  struct Usage {
    std::optional<std::uint64_t> peak{};
    std::chrono::nanoseconds estimated{0};
  };
  std::map<Key, Usage> usage_;
};

}  // namespace tranche::agent
