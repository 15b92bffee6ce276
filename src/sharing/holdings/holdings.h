#pragma once
// All holdings of a node at one moment, as a value, with queries by device, Pod and conflict. Pure.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "holdings/holding.h"

namespace tranche::holdings {

class Holdings {
 public:
  Holdings() = default;
  explicit Holdings(std::vector<Holding> all) : all_(std::move(all)) {}

  // Those of this GPU or MIG instance and of overlapping devices: a GPU's instances, an instance's
  // GPU.
  Holdings of_device(std::string_view uuid) const;
  Holdings of_pod(std::string_view ns, std::string_view pod) const;
  // Those that prevent granting `wanted` (excludes()).
  Holdings conflicts(const Holding& wanted) const;
  // Their holders, for people (describe_holders()).
  std::string describe() const;

  const std::vector<Holding>& all() const { return all_; }
  bool empty() const { return all_.empty(); }
  std::size_t size() const { return all_.size(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }
  bool operator==(const Holdings&) const = default;

 private:
  template <class Pick>
  Holdings those(const Pick& pick) const;

  std::vector<Holding> all_;
};

// "default/a, default/b and 3 more": the holders, at most 16 by name. If a claim's Pod is unknown,
// the claim is named: "claim team/half". Others without a known Pod are "a container that kubelet
// does not name".
std::string describe_holders(std::span<const Holding> holdings);

}  // namespace tranche::holdings
