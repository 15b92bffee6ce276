#include "agent/plugins/cdi_publisher.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <utility>

#include "cdi/find_driver_files.h"

namespace tranche::agent {
namespace {

constexpr const char* kNoSpecFile = "unable to create cdi spec file";

std::string kernel_release() {
  utsname name{};
  return ::uname(&name) == 0 ? std::string(name.release) : std::string();
}

}  // namespace

CdiPublisher::CdiPublisher(config::AgentOptions options, const Log& log)
    : options_(std::move(options)), log_(log) {}

Result<void> CdiPublisher::follow(const Round& round) {
  const bool wanted = round.state.config.uses_cdi();
  if (!wanted && !wrote_) return {};
  auto specs = wanted ? make(round) : cdi::Specs();
  auto wrote = specs ? write(*specs) : std::unexpected(specs.error());
  // NVIDIA's words, which its users search for.
  if (!wrote) return std::unexpected(std::move(wrote).error().with_context(kNoSpecFile));
  const auto& written = *wrote;
  wrote_ = true;
  for (const auto& name : written.changed) {
    log_.info(fmt::format("wrote {}/{}", options_.cdi_root, name));
  }
  for (const auto& name : written.removed) {
    log_.info(fmt::format("removed {}/{}", options_.cdi_root, name));
  }
  if (specs->warnings != warned_) {
    for (const auto& warning : specs->warnings) log_.warn(fmt::format("CDI: {}", warning));
    warned_ = specs->warnings;
  }
  modes_ = std::move(specs->modes);
  return {};
}

// A container that was made without a CDI strategy in view has no such folder, and a root file
// system that is read-only.
Result<cdi::Written> CdiPublisher::write(const cdi::Specs& specs) const {
  auto written = cdi::write_specs(fs_, options_.cdi_root, specs.files);
  if (written) return written;
  auto error = std::move(written).error().with_context("a CDI file cannot be written");
  error.hint =
      "mount the node's folder of CDI specifications, writable, at --cdi-root (cdi.enabled=true in "
      "the chart's values)";
  return std::unexpected(std::move(error));
}

Result<cdi::Specs> CdiPublisher::make(const Round& round) const {
  const gpu::Machine& machine = *round.state.machine;
  const config::Config& config = round.state.config;
  const FsRoot host(options_.host_root);
  const FsRoot driver(config.flags.plugin.container_driver_root);
  std::vector<gpu::PciAddress> addresses;
  addresses.reserve(machine.gpus.size());
  for (const auto& gpu : machine.gpus) addresses.push_back(gpu.pci);
  ASSIGN_OR_RETURN(const auto files,
                   cdi::find_driver_files(
                       {.driver = driver, .dev = cdi::find_dev_root(driver, host), .host = host},
                       machine.driver_version, kernel_release(), addresses));
  auto options = cdi::spec_options(config);
  std::vector<std::string> warnings;
  options.features = cdi::parse_features(options_.cdi_feature_flags, warnings);
  options.disabled_hooks = {options_.cdi_disable_hooks.begin(), options_.cdi_disable_hooks.end()};
  options.imex_channels = round.state.facts.imex_channels;
  ASSIGN_OR_RETURN(auto specs, cdi::make_specs(*round.offer, machine, files, options));
  specs.warnings.insert(specs.warnings.begin(), warnings.begin(), warnings.end());
  return specs;
}

}  // namespace tranche::agent
