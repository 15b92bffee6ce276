#include "lab/runtime/request.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "fmt/format.h"

namespace tranche::lab {
namespace {

constexpr auto kCapabilities = std::to_array<std::string_view>(
    {"compat32", "compute", "display", "graphics", "ngx", "utility", "video"});

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const auto item = text.substr(0, comma);
    if (!item.empty()) items.emplace_back(item);
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
  }
  return items;
}

// The last one wins, as in a process.
std::optional<std::string> variable(const Json& spec, std::string_view name) {
  std::optional<std::string> value;
  for (const Json& entry : spec["process"].value("env", Json::array())) {
    if (!entry.is_string()) continue;
    const auto& text = entry.get_ref<const std::string&>();
    const auto equals = text.find('=');
    if (equals != text.npos && text.substr(0, equals) == name) value = text.substr(equals + 1);
  }
  return value;
}

std::vector<std::string> mounted_names(const Json& spec) {
  std::vector<std::string> names;
  const std::string folder = fmt::format("{}/", kListFolder);
  for (const Json& mount : spec.value("mounts", Json::array())) {
    const std::string source = mount.value("source", "");
    const std::string destination = mount.value("destination", "");
    if (source == "/dev/null" && destination.starts_with(folder)) {
      names.push_back(destination.substr(folder.size()));
    }
  }
  return names;
}

std::optional<std::vector<std::string>> wanted_devices(const Json& spec) {
  if (auto names = mounted_names(spec); !names.empty()) return names;
  const auto value = variable(spec, "NVIDIA_VISIBLE_DEVICES");
  if (!value || value->empty() || *value == "void") return std::nullopt;
  if (*value == "none" || *value == kListFolder) return std::vector<std::string>();
  return split(*value);
}

Result<void> read_capabilities(const std::string& text, Request& request) {
  const auto wanted = split(text);
  if (wanted.empty() || std::ranges::find(wanted, "all") != wanted.end()) return {};
  for (const auto& one : wanted) {
    if (std::ranges::find(kCapabilities, one) != kCapabilities.end()) continue;
    return fail(Code::kInvalidArgument,
                fmt::format("NVIDIA_DRIVER_CAPABILITIES: unsupported capability '{}'", one),
                fmt::format("use all, or some of {}", fmt::join(kCapabilities, ", ")));
  }
  request.compute = std::ranges::find(wanted, "compute") != wanted.end();
  request.utility = std::ranges::find(wanted, "utility") != wanted.end();
  return {};
}

}  // namespace

Result<std::optional<Request>> read_request(const Json& spec) {
  if (!spec.is_object() || !spec.contains("process") || !spec["process"].is_object()) {
    return fail(Code::kInvalidArgument, "config.json: no OCI specification with a process");
  }
  const auto devices = wanted_devices(spec);
  if (!devices) return std::nullopt;
  Request request;
  request.all = std::ranges::find(*devices, "all") != devices->end();
  if (!request.all) request.devices = *devices;
  TRY(read_capabilities(variable(spec, "NVIDIA_DRIVER_CAPABILITIES").value_or(""), request));
  return request;
}

}  // namespace tranche::lab
