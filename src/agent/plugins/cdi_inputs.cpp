#include "agent/plugins/cdi_inputs.h"

#include <sys/utsname.h>

#include <utility>

#include "cdi/find_driver_files.h"

namespace tranche::agent {
namespace {

std::string kernel_release() {
  utsname name{};
  return ::uname(&name) == 0 ? std::string(name.release) : std::string();
}

}  // namespace

Result<CdiInputs> read_cdi_inputs(const State& state, const config::AgentOptions& options) {
  const gpu::Machine& machine = *state.machine;
  const FsRoot host(options.host_root);
  const FsRoot driver(state.config.flags.plugin.container_driver_root);
  std::vector<gpu::PciAddress> addresses;
  addresses.reserve(machine.gpus.size());
  for (const auto& gpu : machine.gpus) addresses.push_back(gpu.pci);
  CdiInputs inputs{.files = {}, .options = cdi::spec_options(state.config), .warnings = {}};
  ASSIGN_OR_RETURN(inputs.files,
                   cdi::find_driver_files(
                       {.driver = driver, .dev = cdi::find_dev_root(driver, host), .host = host},
                       machine.driver_version, kernel_release(), addresses));
  inputs.options.features = cdi::parse_features(options.cdi_feature_flags, inputs.warnings);
  inputs.options.disabled_hooks = {options.cdi_disable_hooks.begin(),
                                   options.cdi_disable_hooks.end()};
  inputs.options.imex_channels = state.facts.imex_channels;
  return inputs;
}

}  // namespace tranche::agent
