#pragma once
// Which devices of a machine overlap: a GPU and its MIG instances do, two instances of one GPU do
// not. An index for overlap() (holdings/holding.h) by UUID. A value, pure.

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gpu/machine.h"

namespace tranche::holdings {

class Silicon {
 public:
  Silicon() = default;
  explicit Silicon(const gpu::Machine& machine);

  // UUID of the device's GPU, or its own; empty: the machine does not have it.
  std::string gpu_of(std::string_view device) const;
  bool has(std::string_view device) const { return !gpu_of(device).empty(); }
  // The devices that overlap it.
  const std::vector<std::string>& overlapping(std::string_view device) const;
  // The device with these; only the device itself if the machine does not have it.
  std::set<std::string> of(std::string_view device) const;

  bool operator==(const Silicon&) const = default;

 private:
  struct Place {
    std::string gpu;
    std::vector<std::string> overlapping{};
    bool operator==(const Place&) const = default;
  };
  const Place* find(std::string_view device) const;

  std::unordered_map<std::string, Place> places_;  // by device
};

}  // namespace tranche::holdings
