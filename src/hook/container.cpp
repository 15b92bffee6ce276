#include "hook/container.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "fmt/format.h"
#include "limit/start_message.h"

namespace tranche::hook {
namespace {

using nlohmann::json;

std::unexpected<Error> refuse(std::string_view what, std::string_view why) {
  return fail(Code::kInvalidArgument, fmt::format("{}: {}", what, why));
}

}  // namespace

Result<State> parse_state(std::string_view text) try {
  const json state = json::parse(text);
  // A number that is none of integers is not made one: it may be larger than any.
  const json& told = state.at("pid");
  const auto pid = told.is_number_integer() ? told.get<std::int64_t>() : 0;
  const std::filesystem::path bundle = state.at("bundle").get<std::string>();
  if (pid <= 0 || pid > std::numeric_limits<pid_t>::max()) {
    return refuse("the container's state", "it has no process yet");
  }
  if (!bundle.is_absolute()) return refuse("the container's state", "its bundle has no full path");
  return State{static_cast<pid_t>(pid), bundle};
} catch (const json::exception& error) {
  return refuse("the container's state", error.what());
}

Result<Container> parse_config(std::string_view text, const std::filesystem::path& bundle,
                               std::span<const std::filesystem::path> tenants) try {
  const json config = json::parse(text);
  Container container{
      .rootfs = (bundle / config.at("root").at("path").get<std::string>()).lexically_normal(),
      .tenants = {}};
  const auto mounts = config.find("mounts");
  if (mounts == config.end() || mounts->is_null()) return container;
  for (const json& mount : *mounts) {
    const auto source = std::filesystem::path(mount.value("source", "")).lexically_normal();
    const auto id = source.filename().string();
    const bool is_ours = std::ranges::find(tenants, source.parent_path()) != tenants.end();
    if (!is_ours || !limit::is_tenant_id(id)) continue;
    if (std::ranges::find(container.tenants, id) == container.tenants.end()) {
      container.tenants.push_back(id);
    }
  }
  if (container.tenants.size() > limit::kMostTenants) {
    return refuse("config.json", fmt::format("it mounts {} tenants", container.tenants.size()));
  }
  return container;
} catch (const json::exception& error) {
  return refuse("config.json", error.what());
}

}  // namespace tranche::hook
