#include "cdi/limit_hook.h"

#include <filesystem>

#include "cdi/spec.h"
#include "offer/grant.h"

namespace tranche::cdi {
namespace {

// Seconds. The hook ends by itself before that. A runtime kills a hook that takes longer, and the
// container does not start.
constexpr int kTimeout = 30;

}  // namespace

Hook limit_hook(const std::string& program, const std::string& tenants) {
  return {.hook_name = "createRuntime",
          .path = program,
          .args = {std::filesystem::path(program).filename(), "--tenants", tenants},
          .env = {},
          .timeout = kTimeout};
}

SpecFile limit_hook_spec(const std::string& program, const std::string& tenants) {
  const std::string_view device = offer::kHookDevice;
  Spec spec{.kind = std::string(kHookKind), .devices = {}, .edits = {}};
  Device hook{.name = std::string(device.substr(device.find('=') + 1)), .edits = {}};
  hook.edits.hooks.push_back(limit_hook(program, tenants));
  spec.devices.push_back(std::move(hook));
  return {.name = std::string(kHookSpecFile), .class_name = "limits", .json = to_json(spec)};
}

}  // namespace tranche::cdi
