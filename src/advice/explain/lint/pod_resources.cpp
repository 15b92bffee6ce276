// Amounts of resources that containers request: whole numbers, equal in limits and requests, of
// resources that a node offers.

#include <fmt/format.h>

#include "admission/amount.h"
#include "admission/names.h"
#include "admission/share.h"
#include "base/json_value.h"
#include "base/quantity.h"
#include "base/yaml_write.h"
#include "explain/lint/pod.h"

namespace tranche::lint {
namespace {

constexpr std::string_view kImplicit = "deviceclass.resource.kubernetes.io/";

// A resource that device plugins or DeviceClasses offer.
bool is_extended(std::string_view name) {
  const auto slash = name.find('/');
  if (slash == std::string_view::npos) return false;
  return name.starts_with(kImplicit) || !name.substr(0, slash).ends_with("kubernetes.io");
}

// The place of the name in limits or requests; nullopt: absent.
std::optional<Place> find(const std::optional<Place>& amounts, std::string_view name) {
  return amounts ? amounts->child(name) : std::nullopt;
}

// Whether the number is whole; reports an impossible one.
std::optional<bool> check_number(const Place& value, std::string_view name) {
  const auto amount = admission::parse_amount(value.node().scalar);
  if (value.node().kind != yaml::Kind::kScalar || !amount) {
    value.error(amount ? "this is no number" : amount.error().what,
                amount ? "write a whole number" : amount.error().hint);
    return std::nullopt;
  }
  if (!amount->is_fraction()) return true;
  if (name == admission::kGpuResource) return false;
  value.error(fmt::format("{} of {}: only {} can be asked in fractions", shown(value.node().scalar),
                          shown(name), admission::kGpuResource),
              name.starts_with(kImplicit)
                  ? "write a whole number; with a fraction the Pod waits for ever"
                  : "write a whole number");
  return std::nullopt;
}

void check_offer(const Place& value, const std::string& name, const Offered& offered) {
  const auto found = offered.find(name);
  if (found == offered.end()) {
    std::vector<std::string> known;
    for (const auto& [resource, most] : offered) {
      if (most > 0) known.push_back(resource);
    }
    std::string listed;
    for (const auto& one : known) listed += (listed.empty() ? "" : ", ") + one;
    value.error(fmt::format("no node offers {}, so the Pod would wait for ever", shown(name)),
                did_you_mean(name, known,
                             listed.empty() ? "no node offers any resource with a domain"
                                            : fmt::format("nodes offer {}", listed)));
    return;
  }
  const auto amount = parse_quantity(value.node().scalar);
  if (!amount || *amount <= found->second) return;
  value.error(
      fmt::format("asks {} {}, and no node has more than {}", *amount, shown(name), found->second),
      found->second == 0 ? "no node has any now" : "ask no more than one node has");
}

class ContainerResources {
 public:
  ContainerResources(const Place& resources, const Surroundings& around)
      : limits_(resources.map("limits")), requests_(resources.map("requests")), around_(around) {}

  void check() {
    if (limits_) {
      for (const auto& entry : limits_->node().entries) check(entry.key);
    }
    if (requests_) {
      for (const auto& entry : requests_->node().entries) {
        if (!find(limits_, entry.key)) check(entry.key);
      }
    }
  }

 private:
  void check(const std::string& name) {
    if (!is_extended(name)) return;
    const auto limit = find(limits_, name);
    const auto request = find(requests_, name);
    const auto place = limit ? limit : request;
    if (!place) return;
    if (!limit) {
      place->error(fmt::format("{} stands in requests and not in limits", shown(name)),
                   "write it into limits; Kubernetes copies it from there");
      return;
    }
    const auto whole = check_number(*limit, name);
    if (!whole || (request && !check_number(*request, name))) return;
    if (request && admission::parse_amount(request->node().scalar) !=
                       admission::parse_amount(limit->node().scalar)) {
      request->error(
          fmt::format("requests ask {} of {}, and limits {}", shown(request->node().scalar),
                      shown(name), shown(limit->node().scalar)),
          "write the same, or limits alone");
      return;
    }
    if (!*whole) return;  // becomes a claim
    if (around_.offered) {
      check_offer(*limit, name, *around_.offered);
    } else {
      limit->report().add_unseen(name);
    }
  }

  std::optional<Place> limits_;
  std::optional<Place> requests_;
  const Surroundings& around_;
};

}  // namespace

void check_pod_resources(const Place& spec, const Surroundings& around) {
  for (const auto* key : {"initContainers", "containers"}) {
    for (const auto& container : spec.list_of_maps(key)) {
      const auto resources = container.map("resources");
      if (resources) ContainerResources(*resources, around).check();
    }
  }
}

}  // namespace tranche::lint
