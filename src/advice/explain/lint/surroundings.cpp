#include "explain/lint/surroundings.h"

#include <algorithm>

#include "base/quantity.h"

namespace tranche::lint {
namespace {

AttributeKind kind_of(const cluster::DeviceAttribute& attribute) {
  struct Kinds {
    AttributeKind operator()(const std::string&) const { return AttributeKind::kText; }
    AttributeKind operator()(std::int64_t) const { return AttributeKind::kNumber; }
    AttributeKind operator()(bool) const { return AttributeKind::kTruth; }
    AttributeKind operator()(const cluster::SemanticVersion&) const {
      return AttributeKind::kVersion;
    }
  };
  return std::visit(Kinds(), attribute);
}

struct QualifiedName {
  std::string_view domain;
  std::string_view name;
};

QualifiedName qualified(std::string_view key, std::string_view driver) {
  const auto slash = key.find('/');
  if (slash == std::string_view::npos) return {driver, key};
  return {key.substr(0, slash), key.substr(slash + 1)};
}

}  // namespace

DeviceNames DeviceNames::of(const std::vector<cluster::ResourceSlice>& slices) {
  DeviceNames names;
  for (const auto& slice : slices) {
    auto& driver = names.drivers_[slice.driver];
    for (const auto& device : slice.devices) {
      for (const auto& [key, value] : device.attributes) {
        driver.attributes.emplace(key, kind_of(value));
      }
      for (const auto& [key, value] : device.capacity) driver.capacities.insert(key);
    }
  }
  return names;
}

void DeviceNames::add(const std::string& driver, std::string attribute, AttributeKind kind) {
  drivers_[driver].attributes.emplace(std::move(attribute), kind);
}

std::optional<AttributeKind> DeviceNames::attribute(std::string_view domain,
                                                    std::string_view name) const {
  for (const auto& [driver, has] : drivers_) {
    for (const auto& [key, kind] : has.attributes) {
      const auto one = qualified(key, driver);
      if (one.domain == domain && one.name == name) return kind;
    }
  }
  return std::nullopt;
}

bool DeviceNames::has_capacity(std::string_view domain, std::string_view name) const {
  return std::ranges::any_of(drivers_, [&](const auto& driver) {
    return std::ranges::any_of(driver.second.capacities, [&](const std::string& key) {
      const auto one = qualified(key, driver.first);
      return one.domain == domain && one.name == name;
    });
  });
}

bool DeviceNames::has_domain(std::string_view domain) const {
  const auto all = domains();
  return std::ranges::find(all, domain) != all.end();
}

std::vector<std::string> DeviceNames::drivers() const {
  std::vector<std::string> all;
  for (const auto& [driver, has] : drivers_) all.push_back(driver);
  return all;
}

std::vector<std::string> DeviceNames::domains() const {
  std::set<std::string> all;
  for (const auto& [driver, has] : drivers_) {
    all.insert(driver);
    for (const auto& [key, kind] : has.attributes) all.emplace(qualified(key, driver).domain);
    for (const auto& key : has.capacities) all.emplace(qualified(key, driver).domain);
  }
  return {all.begin(), all.end()};
}

std::vector<std::string> DeviceNames::names(std::string_view domain) const {
  std::set<std::string> all;
  const auto add = [&](std::string_view key, std::string_view driver) {
    const auto one = qualified(key, driver);
    if (one.domain == domain) all.emplace(one.name);
  };
  for (const auto& [driver, has] : drivers_) {
    for (const auto& [key, kind] : has.attributes) add(key, driver);
    for (const auto& key : has.capacities) add(key, driver);
  }
  return {all.begin(), all.end()};
}

std::set<std::string> DeviceNames::capacity_keys() const {
  std::set<std::string> all;
  for (const auto& [driver, has] : drivers_) {
    all.insert(has.capacities.begin(), has.capacities.end());
  }
  return all;
}

Offered offered_by(const std::vector<cluster::Node>& nodes) {
  Offered offered;
  for (const auto& node : nodes) {
    for (const auto& [resource, quantity] : node.allocatable) {
      const auto amount = parse_quantity(quantity);
      if (resource.find('/') == std::string::npos || !amount) continue;
      auto& most = offered[resource];
      most = std::max(most, *amount);
    }
  }
  return offered;
}

}  // namespace tranche::lint
