#include "agent/plugins/cdi_publisher.h"

#include <fmt/format.h>

#include <utility>

#include "agent/plugins/cdi_inputs.h"

namespace tranche::agent {
namespace {

constexpr const char* kNoSpecFile = "unable to create cdi spec file";

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
  ASSIGN_OR_RETURN(const auto inputs, read_cdi_inputs(round.state, options_));
  ASSIGN_OR_RETURN(auto specs, cdi::make_specs(*round.offer, *round.state.machine, inputs.files,
                                               inputs.options));
  specs.warnings.insert(specs.warnings.begin(), inputs.warnings.begin(), inputs.warnings.end());
  return specs;
}

}  // namespace tranche::agent
