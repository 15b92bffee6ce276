// Files of mig-parted, written.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/yaml.h"
#include "mig/parted.h"

namespace tranche::mig {
namespace {

// A scalar that YAML reads back as this text.
std::string scalar(const std::string& text) {
  const bool plain = !text.empty() &&
                     std::ranges::all_of(text,
                                         [](char c) {
                                           return (c >= 'a' && c <= 'z') ||
                                                  (c >= 'A' && c <= 'Z') ||
                                                  (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                                                  c == '.' || c == '+';
                                         }) &&
                     text[0] != '-' && text[0] != '.' &&
                     yaml::is_text({.kind = yaml::Kind::kScalar, .scalar = text}) &&
                     text != "null" && text != "Null" && text != "NULL";
  return plain ? text : json::Value(text).text();
}

std::vector<std::string> texts_of(const std::vector<DeviceFilter>& filters) {
  std::vector<std::string> texts;
  for (const auto& filter : filters) texts.push_back(filter.text);
  return texts;
}

std::string indices_of(const PartedEntry& entry) {
  return entry.devices ? fmt::format("[{}]", fmt::join(*entry.devices, ", ")) : "all";
}

std::string yaml_of(const PartedEntry& entry) {
  std::string text;
  if (!entry.filters.empty()) {
    text += fmt::format("      device-filter: {}\n", json::Value(texts_of(entry.filters)).text());
  }
  text += fmt::format("      devices: {}\n      mig-enabled: {}\n", indices_of(entry),
                      entry.wish.enabled);
  if (entry.wish.enabled) {
    text += entry.wish.devices.empty() ? "      mig-devices: {}\n" : "      mig-devices:\n";
    for (const auto& [profile, count] : entry.wish.devices) {
      text += fmt::format("        {}: {}\n", json::Value(profile).text(), count);
    }
  }
  text[4] = '-';
  return text;
}

json::Value json_of(const PartedEntry& entry) {
  json::Value value = json::Value::object();
  if (!entry.filters.empty()) value["device-filter"] = texts_of(entry.filters);
  value["devices"] = entry.devices ? json::Value(*entry.devices) : json::Value("all");
  value["mig-enabled"] = entry.wish.enabled;
  if (entry.wish.enabled) value["mig-devices"] = json::Value(entry.wish.devices);
  return value;
}

}  // namespace

PartedFile exported(const gpu::Machine& machine, const Layout& layout, const std::string& name) {
  std::vector<PartedEntry> entries;
  for (const auto& gpu : machine.gpus) {
    const auto has = layout.find(gpu.uuid);
    GpuWish wish{.enabled = has != layout.end() && has->second.enabled, .devices = {}};
    if (wish.enabled) wish.devices = devices_of(has->second, gpu.mig_geometry);
    const auto alike = std::ranges::find(entries, wish, &PartedEntry::wish);
    if (alike == entries.end()) {
      entries.push_back({.filters = {}, .devices = std::vector{gpu.index}, .wish = wish});
    } else {
      alike->devices->push_back(gpu.index);
    }
  }
  if (entries.size() == 1) entries[0].devices.reset();
  return {.configs = {{name, std::move(entries)}}, .hooks = {}};
}

std::string to_yaml(const PartedFile& file) {
  std::string text = "version: v1\n";
  if (!file.configs.empty()) text += "mig-configs:\n";
  for (const auto& [name, entries] : file.configs) {
    text += fmt::format("  {}:\n", scalar(name));
    for (const auto& entry : entries) text += yaml_of(entry);
  }
  return text;
}

json::Value to_json(const PartedFile& file) {
  json::Value configs = json::Value::object();
  for (const auto& [name, entries] : file.configs) {
    auto& list = configs[name];
    list = json::Value::array();
    for (const auto& entry : entries) list.push_back(json_of(entry));
  }
  return {{"version", "v1"}, {"mig-configs", std::move(configs)}};
}

}  // namespace tranche::mig
