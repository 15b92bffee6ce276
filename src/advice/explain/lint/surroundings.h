#pragma once
// What lint compares a file with: the names in the cluster's ResourceSlices, or else those that our
// driver publishes; and what the cluster's nodes offer. Values; the command line creates them.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "admission/fleet.h"
#include "base/dra_driver.h"
#include "base/result.h"
#include "cluster/node.h"
#include "cluster/resource_slice.h"

namespace tranche::lint {

enum class AttributeKind { kText, kNumber, kTruth, kVersion };

struct DriverNames {
  // An attribute without a domain is the driver's; others are "domain/name". The same applies to
  // capacities.
  std::map<std::string, AttributeKind> attributes;
  std::set<std::string> capacities;
};

class DeviceNames {
 public:
  // The names of every device in the slices.
  static DeviceNames of(const std::vector<cluster::ResourceSlice>& slices);
  // Adds another attribute of a driver.
  void add(const std::string& driver, std::string attribute, AttributeKind kind);

  // By domain and name, as in CEL: device.attributes[domain].name.
  std::optional<AttributeKind> attribute(std::string_view domain, std::string_view name) const;
  bool has_capacity(std::string_view domain, std::string_view name) const;
  bool has_domain(std::string_view domain) const;
  bool has_driver(const std::string& driver) const { return drivers_.contains(driver); }
  bool empty() const { return drivers_.empty(); }

  std::vector<std::string> drivers() const;
  std::vector<std::string> domains() const;
  // Attributes and capacities of a domain.
  std::vector<std::string> names(std::string_view domain) const;
  // Keys of the capacities of all drivers, as slices spell them.
  std::set<std::string> capacity_keys() const;

 private:
  std::map<std::string, DriverNames> drivers_;
};

// What nodes offer under each resource name with a domain: the maximum on one node.
using Offered = std::map<std::string, std::int64_t>;
Offered offered_by(const std::vector<cluster::Node>& nodes);

struct Surroundings {
  DeviceNames names;
  // The names are those of the cluster's slices: any other name is an error.
  bool names_are_the_clusters = false;
  // The driver that names without a driver refer to.
  std::string driver{kDefaultDraDriver};
  std::optional<Offered> offered = {};                // nullopt: not queried
  std::optional<std::set<std::string>> classes = {};  // DeviceClasses; nullopt: not queried
  // What provides parts of GPUs in the cluster. nullopt: not queried.
  std::optional<admission::Fleet> fleet = {};
  // Checks the opaque parameters of our driver (JSON). Empty: they are not
  // checked.
  std::function<Result<void>(std::string_view json)> check_parameters = {};
};

}  // namespace tranche::lint
