#pragma once
// A Lease (coordination.k8s.io/v1): the leader, and until when.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cluster/object.h"

namespace tranche::cluster {

struct Lease {
  using Time = std::chrono::system_clock::time_point;

  ObjectKey key;
  std::string uid = {};
  std::string resource_version = {};
  std::string holder = {};  // empty: free
  std::chrono::seconds duration{0};
  std::optional<Time> acquired = {};  // microseconds
  std::optional<Time> renewed = {};
  int transitions = 0;

  bool operator==(const Lease&) const = default;
};

Result<Lease> parse_lease(std::string_view json);
// For create and update: uid and resource_version only if set.
std::string to_json(const Lease& lease);

}  // namespace tranche::cluster
