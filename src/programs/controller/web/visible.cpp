#include "controller/web/visible.h"

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "fleet/node_count.h"

namespace tranche::controller {
namespace {

using Sees = std::function<bool(const std::string&)>;

void hide(usage::NodeUsage& usage, const Sees& sees) {
  for (auto& one : usage.containers) {
    if (!sees(one.ns)) one.ns = one.pod = one.container = "";
  }
  for (auto& one : usage.processes) {
    if (!sees(one.ns)) one.ns = one.pod = one.container = one.name = "";
  }
}

// Those that are hidden are one.
std::vector<fleet::NamespaceUse> merged(std::vector<fleet::NamespaceUse> uses, const Sees& sees) {
  std::map<std::tuple<std::string, std::string, std::string>, fleet::NamespaceUse> all;
  for (auto& use : uses) {
    if (!sees(use.ns)) use.ns = "";
    auto& sum = all[{use.ns, use.resource, use.tier}];
    const auto allocated = fleet::sum_of(sum.allocated, use.allocated);
    const auto pending = fleet::sum_of(sum.pending, use.pending);
    sum = std::move(use);
    sum.allocated = allocated;
    sum.pending = pending;
  }
  std::vector<fleet::NamespaceUse> list;
  for (auto& [key, use] : all) list.push_back(std::move(use));
  return list;
}

}  // namespace

std::set<std::string> namespaces_of(const fleet::Fleet& fleet) {
  std::set<std::string> all;
  for (const auto& node : fleet.nodes) {
    for (const auto& one : node.usage.containers) all.insert(one.ns);
  }
  for (const auto& one : fleet.namespaces) all.insert(one.ns);
  for (const auto& one : fleet.waiting) all.insert(one.ns);
  all.erase("");
  return all;
}

fleet::Fleet visible(fleet::Fleet fleet, const Sees& sees) {
  for (auto& node : fleet.nodes) hide(node.usage, sees);
  fleet.namespaces = merged(std::move(fleet.namespaces), sees);
  for (auto& one : fleet.waiting) {
    // Messages have names of claims and images in them.
    if (!sees(one.ns)) one.ns = one.pod = one.message = "";
  }
  return fleet;
}

}  // namespace tranche::controller
