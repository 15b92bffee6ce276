#pragma once
// Common metadata of all objects, and a reference from one object to another.

#include <map>
#include <string>
#include <vector>

namespace tranche::cluster {

using StringMap = std::map<std::string, std::string>;

// The value of a label or annotation; "": absent or empty.
inline const std::string& value_of(const StringMap& map, const std::string& name) {
  static const std::string kNone;
  const auto found = map.find(name);
  return found == map.end() ? kNone : found->second;
}

// metadata.ownerReferences: deleting the owner deletes what it owns. An owner is in the same
// namespace, or cluster-scoped.
struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  bool controller = false;
  bool operator==(const OwnerReference&) const = default;
};

// The object that an event is about.
struct ObjectReference {
  std::string api_version;
  std::string kind;
  std::string ns = {};  // empty: cluster-scoped
  std::string name;
  std::string uid = {};
  bool operator==(const ObjectReference&) const = default;
};

}  // namespace tranche::cluster
