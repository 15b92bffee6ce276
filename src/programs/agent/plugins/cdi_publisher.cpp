#include "agent/plugins/cdi_publisher.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "agent/plugins/cdi_inputs.h"
#include "base/first_few.h"

namespace tranche::agent {
namespace {

constexpr std::size_t kMostNames = 8;
constexpr const char* kNoSpecFile = "unable to create cdi spec file";

}  // namespace

CdiPublisher::CdiPublisher(config::AgentOptions options, const Log& log)
    : options_(std::move(options)), log_(log) {}

Result<void> CdiPublisher::follow(const Round& round) {
  const bool wanted = round.state.config.uses_cdi();
  if (!wanted && !wrote_) return {};
  const auto& driver = round.state.get<DriverStanding>();
  // The files' content would keep a runtime from making any container.
  const bool gone = wrote_ && driver.trouble.has_value();
  if (wanted && driver.files != nullptr) say_what_is_gone(driver.files);
  auto specs = wanted && !gone ? make(round) : cdi::Specs();
  auto wrote = specs ? write(specs->files) : std::unexpected(specs.error());
  // NVIDIA's words, which its users search for.
  if (!wrote) return std::unexpected(std::move(wrote).error().with_context(kNoSpecFile));
  wrote_ = true;
  if (specs->warnings != warned_) {
    for (const auto& warning : specs->warnings) log_.warn(fmt::format("CDI: {}", warning));
    warned_ = specs->warnings;
  }
  modes_ = std::move(specs->modes);
  files_on_node_ = std::move(specs->files);
  return {};
}

// Another writer's file of the same name stays until the next change, or the two would write it for
// ever.
void CdiPublisher::tick(TimePoint /*now*/) {
  constexpr std::string_view kTopic = "restore";
  const auto is_there = [this](const cdi::SpecFile& file) {
    return fs_.exists(std::filesystem::path(options_.cdi_root) / file.name);
  };
  if (std::ranges::all_of(files_on_node_, is_there)) return;
  const auto wrote = write(files_on_node_);
  if (!wrote && said_.is_news(kTopic, wrote.error().what)) log_.error(wrote.error().message());
  if (!wrote) return;
  said_.forget(kTopic);
  log_.warn("CDI: somebody else removed a file, without which no container with a GPU starts");
}

// Another version has other files.
void CdiPublisher::say_what_is_gone(const std::shared_ptr<const cdi::DriverFiles>& files) {
  const auto before = std::exchange(files_, files);
  if (before == nullptr || before->driver_version != files->driver_version) return;
  std::vector<std::string> gone;
  std::ranges::set_difference(before->libraries, files->libraries, std::back_inserter(gone));
  std::erase_if(gone, [&](const std::string& path) {
    return std::ranges::find(files->dangling, path) != files->dangling.end();
  });
  if (gone.empty()) return;
  log_.warn(
      fmt::format("CDI: libraries of the driver are gone, so containers that start from now on get "
                  "none of them: {}; install the driver again",
                  first_few(gone, kMostNames)));
}

// A container made without a CDI strategy has no such folder, and a read-only root file system.
Result<void> CdiPublisher::write(std::span<const cdi::SpecFile> files) const {
  auto written = cdi::write_specs(fs_, options_.cdi_root, files);
  if (written) {
    for (const auto& name : written->changed) {
      log_.info(fmt::format("wrote {}/{}", options_.cdi_root, name));
    }
    for (const auto& name : written->removed) {
      log_.info(fmt::format("removed {}/{}", options_.cdi_root, name));
    }
    return {};
  }
  auto error = std::move(written).error().with_context("a CDI file cannot be written");
  error.hint =
      "mount the node's folder of CDI specifications, writable, at --cdi-root (cdi.enabled=true in "
      "the chart's values)";
  return std::unexpected(std::move(error));
}

Result<cdi::Specs> CdiPublisher::make(const Round& round) const {
  ASSIGN_OR_RETURN(const auto inputs, cdi_inputs(round.state, options_));
  ASSIGN_OR_RETURN(auto specs, cdi::make_specs(*round.offer, *round.state.machine, inputs.files,
                                               inputs.options));
  specs.warnings.insert(specs.warnings.begin(), inputs.warnings.begin(), inputs.warnings.end());
  return specs;
}

}  // namespace tranche::agent
