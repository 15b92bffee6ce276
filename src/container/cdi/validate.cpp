#include "cdi/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>

namespace tranche::cdi {
namespace {

constexpr std::array<std::string_view, 6> kHookNames = {
    "prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_alphanumeric(char c) { return is_letter(c) || (c >= '0' && c <= '9'); }

bool is_made_of(std::string_view text, std::string_view others) {
  return std::ranges::all_of(
      text, [&](char c) { return is_alphanumeric(c) || others.find(c) != std::string_view::npos; });
}

// "vendor.example/class": both begin with a letter and end with a letter or digit.
bool is_kind(std::string_view kind) {
  const auto slash = kind.find('/');
  if (slash == std::string_view::npos) return false;
  const auto fits = [](std::string_view part, std::string_view others) {
    return !part.empty() && is_letter(part.front()) && is_alphanumeric(part.back()) &&
           is_made_of(part, others);
  };
  return fits(kind.substr(0, slash), "_-.") && fits(kind.substr(slash + 1), "_-");
}

bool is_device_name(std::string_view name) {
  return !name.empty() && is_alphanumeric(name.front()) && is_alphanumeric(name.back()) &&
         is_made_of(name, "_-.:");
}

std::unexpected<Error> broken(std::string what) {
  return fail(Code::kInvalidArgument, std::move(what));
}

Result<void> check_environment(const std::vector<std::string>& env) {
  for (const auto& variable : env) {
    const auto equals = variable.find('=');
    if (equals == std::string::npos || equals == 0) {
      return broken(fmt::format("environment \"{}\" is not NAME=value", variable));
    }
  }
  return {};
}

Result<void> check(const DeviceNode& node) {
  if (node.container_path.empty()) return broken("a device node without a path");
  if (node.permissions.find_first_not_of("rwm") != std::string::npos) {
    return broken(fmt::format("device node {}: permissions \"{}\" are not of r, w, m",
                              node.container_path, node.permissions));
  }
  return {};
}

Result<void> check(const Mount& mount) {
  if (!mount.host_path.empty() && !mount.container_path.empty()) return {};
  return broken(fmt::format("a mount of \"{}\" at \"{}\": one of the two is missing",
                            mount.host_path, mount.container_path));
}

Result<void> check(const Hook& hook) {
  if (std::ranges::find(kHookNames, hook.hook_name) == kHookNames.end()) {
    return broken(fmt::format("there is no hook \"{}\"", hook.hook_name));
  }
  if (hook.path.empty()) {
    return broken(fmt::format("hook {} without the path of its program", hook.hook_name));
  }
  return check_environment(hook.env);
}

Result<void> check(const ContainerEdits& edits) {
  TRY(check_environment(edits.env));
  for (const auto& node : edits.device_nodes) TRY(check(node));
  for (const auto& mount : edits.mounts) TRY(check(mount));
  for (const auto& hook : edits.hooks) TRY(check(hook));
  return {};
}

Result<void> check(const Device& device) {
  if (!is_device_name(device.name)) return broken("its name is no name of a CDI device");
  if (device.edits.empty()) return broken("it changes nothing in a container");
  return check(device.edits);
}

}  // namespace

Result<void> validate(const Spec& spec) {
  if (!is_kind(spec.kind)) return broken(fmt::format("\"{}\" is no CDI kind", spec.kind));
  if (spec.devices.empty()) return broken("it has no devices");
  std::set<std::string_view> names;
  for (const auto& device : spec.devices) {
    const auto where = fmt::format("device \"{}\"", device.name);
    if (const auto fits = check(device); !fits) {
      return std::unexpected(Error(fits.error()).with_context(where));
    }
    if (!names.insert(device.name).second) return broken(where + " stands there twice");
  }
  return check(spec.edits);
}

}  // namespace tranche::cdi
