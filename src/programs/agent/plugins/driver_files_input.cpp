#include "agent/plugins/driver_files_input.h"

#include <sys/utsname.h>

#include <utility>

#include "cdi/driver_stamp.h"
#include "cdi/find_driver_files.h"

namespace tranche::agent {
namespace {

constexpr std::chrono::seconds kEach{2};
constexpr std::chrono::minutes kLongest{1};

std::string kernel_release() {
  utsname name{};
  return ::uname(&name) == 0 ? std::string(name.release) : std::string();
}

}  // namespace

DriverFilesInput::Asked DriverFilesInput::asked(const State& state) {
  Asked asked{.driver_root = state.config.flags.plugin.container_driver_root,
              .driver_on_host = state.config.flags.nvidia_driver_root,
              .version = state.machine->driver_version,
              .gpus = {}};
  for (const auto& gpu : state.machine->gpus) asked.gpus.push_back(gpu.pci);
  return asked;
}

bool DriverFilesInput::is_known(std::vector<FileIdentity> stamp) {
  const bool same = stamp == stamp_;
  const bool known = same && confirmed_;
  confirmed_ = same;
  stamp_ = std::move(stamp);
  return known;
}

void DriverFilesInput::look(const offer::Offer& /*wished*/, State& state) {
  if (!always_ && !state.config.uses_cdi()) {
    asked_.reset();
    state.set(DriverStanding());
    return;
  }
  auto now = asked(state);
  if (asked_ == now && clock_.now() < looked_ + kEach) return;
  const FsRoot host(options_.host_root);
  const FsRoot driver(now.driver_root);
  const cdi::DriverRoots roots{.driver = driver,
                               .dev = cdi::find_dev_root(driver, host),
                               .host = host,
                               .driver_on_host = now.driver_on_host};
  auto known = state.get<DriverStanding>();
  const bool as_before = std::exchange(asked_, now) == now;
  looked_ = clock_.now();
  const bool unchanged =
      known.files != nullptr && is_known(cdi::stamp_of(roots, *known.files)) && as_before;
  if (unchanged && looked_ < listed_ + kLongest) return;
  listed_ = looked_;
  auto files = cdi::find_driver_files(roots, now.version, kernel_release(), now.gpus);
  if (!files) {
    known.files = nullptr;
    known.trouble = std::move(files).error();
  } else if (known.files == nullptr || *known.files != *files) {
    known = {.files = std::make_shared<const cdi::DriverFiles>(*std::move(files)),
             .trouble = {},
             .were_there = true};
  }
  state.set(std::move(known));
}

std::string DriverFilesInput::trouble(const State& state) const {
  const auto& trouble = state.get<DriverStanding>().trouble;
  return state.config.uses_cdi() && trouble ? trouble->message() : "";
}

offer::Offer offer_what_cdi_can_name(const State& state, offer::Offer offer) {
  const auto& trouble = state.get<DriverStanding>().trouble;
  if (!state.config.uses_cdi() || !trouble) return offer;
  for (auto& resource : offer.resources) {
    for (auto& device : resource.devices) {
      if (device.healthy()) device.unhealthy_reason = trouble->what;
    }
  }
  return offer;
}

}  // namespace tranche::agent
