#include "hook/container.h"

#include <algorithm>
#include <limits>

#include "base/json_fields.h"
#include "fmt/format.h"
#include "limit/start_message.h"

namespace tranche::hook {
namespace {

constexpr std::string_view kState = "the container's state";
constexpr std::string_view kConfig = "config.json";

std::unexpected<Error> refuse(std::string_view what, std::string_view why) {
  return fail(Code::kInvalidArgument, fmt::format("{}: {}", what, why));
}

State read_state(const json::Fields& state) {
  // as_int() refuses a number that is not an integer; 0 represents that.
  const auto told = state.view().find("pid");
  const auto pid = told ? told->as_int().value_or(0) : 0;
  if (pid <= 0 || pid > std::numeric_limits<pid_t>::max()) state.refuse("it has no process yet");
  const std::filesystem::path bundle = state.need<std::string>("bundle");
  if (!bundle.is_absolute()) state.refuse("its bundle has no full path");
  return {static_cast<pid_t>(pid), bundle};
}

// The tenant whose folder is mounted; `tenants` are the names of the folder of all tenants. Empty:
// none.
std::string tenant_of(const json::Fields& mount, std::span<const std::filesystem::path> tenants) {
  const std::filesystem::path written = mount.need_or("source", std::string());
  const auto source = written.lexically_normal();
  const bool is_ours = std::ranges::find(tenants, source.parent_path()) != tenants.end();
  auto id = source.filename().string();
  return is_ours && limit::is_tenant_id(id) ? id : "";
}

std::vector<std::string> tenants_of(const json::Fields& config,
                                    std::span<const std::filesystem::path> tenants) {
  std::vector<std::string> found;
  for (const auto& mount : config.list("mounts")) {
    auto id = tenant_of(mount, tenants);
    if (!id.empty() && std::ranges::find(found, id) == found.end()) found.push_back(std::move(id));
  }
  if (found.size() > limit::kMostTenants) {
    config.refuse(fmt::format("it mounts {} tenants", found.size()));
  }
  return found;
}

// Applies `read` to a text in JSON. Messages begin with `what`.
template <class Read>
auto read_text(std::string_view what, std::string_view text, const Read& read)
    -> decltype(json::read_fields(json::View(), read)) {
  const auto root = json::parse_strict(text);
  if (!root) return refuse(what, root.error().what);
  auto value = json::read_fields(*root, read);
  if (!value) return refuse(what, value.error().what);
  return value;
}

}  // namespace

Result<State> parse_state(std::string_view text) { return read_text(kState, text, read_state); }

Result<Container> parse_config(std::string_view text, const std::filesystem::path& bundle,
                               std::span<const std::filesystem::path> tenants) {
  return read_text(kConfig, text, [&](const json::Fields& config) {
    const auto root = bundle / config.need_object("root").need<std::string>("path");
    return Container{.rootfs = root.lexically_normal(), .tenants = tenants_of(config, tenants)};
  });
}

}  // namespace tranche::hook
