#pragma once
// Which devices of a machine use the same silicon: a GPU and its MIG instances do, two instances of
// one GPU do not. The rule is overlap() (holdings/holding.h); this is an index of it, for who asks
// with a UUID. A value, pure.

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

  // UUID of the GPU that the device is, or lies on; empty: the machine does not have it.
  std::string gpu_of(std::string_view device) const;
  bool has(std::string_view device) const { return !gpu_of(device).empty(); }
  // The others that use silicon of the device.
  const std::vector<std::string>& beside(std::string_view device) const;
  // The device and these. Of a device that the machine does not have, it alone.
  std::set<std::string> of(std::string_view device) const;

  bool operator==(const Silicon&) const = default;

 private:
  struct Place {
    std::string gpu;
    std::vector<std::string> beside{};
    bool operator==(const Place&) const = default;
  };
  const Place* find(std::string_view device) const;

  std::unordered_map<std::string, Place> places_;  // by device
};

}  // namespace tranche::holdings
