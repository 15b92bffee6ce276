#include "agent/plugins/cdi_inputs.h"

#include <fmt/format.h>

namespace tranche::agent {

Result<CdiInputs> cdi_inputs(const State& state, const config::AgentOptions& options) {
  const auto& driver = state.get<DriverStanding>();
  if (driver.trouble) return std::unexpected(*driver.trouble);
  if (driver.files == nullptr) {
    return fail(Code::kInternal, "nobody has looked for the driver's files");
  }
  CdiInputs inputs{
      .files = *driver.files, .options = cdi::spec_options(state.config), .warnings = {}};
  inputs.options.features = cdi::parse_features(options.cdi_feature_flags, inputs.warnings);
  inputs.options.disabled_hooks =
      cdi::parse_disabled_hooks(options.cdi_disable_hooks, inputs.warnings);
  inputs.options.imex_channels = state.facts.imex_channels;
  for (const auto& path : inputs.files.dangling) {
    inputs.warnings.push_back(
        fmt::format("{} is a link that leads to no file, so containers get none of it; install the "
                    "driver again, or remove the link",
                    path));
  }
  return inputs;
}

}  // namespace tranche::agent
