#pragma once
// Who owns which field of an object under server-side apply; for FakeObjects. Lists are one field.
// Source: Kubernetes' documentation of server-side apply.

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace tranche::test {

class Ownership {
 public:
  // "/data/key" -> who set it: "<field manager>/apply" or "<field manager>/update".
  using Owners = std::map<std::string, std::set<std::string>>;

  // `by` changed the object from `before` to `after`: it alone owns the differences now.
  void changed(const nlohmann::json& before, const nlohmann::json& after, const std::string& by);

  // The object after `by` applied `wanted` to `live`. Fields of others with different values are
  // put into `conflicts`, or, with `force`, taken from them. What `by` applied before and no longer
  // does is removed, unless others own it too.
  nlohmann::json apply(nlohmann::json live, const nlohmann::json& wanted, const std::string& by,
                       bool force, std::vector<std::string>& conflicts);

  bool operator==(const Ownership&) const = default;

 private:
  Owners owners_;
};

}  // namespace tranche::test
