#include "config/programs/arbiter_options.h"

#include "config/programs/option_reader.h"

namespace tranche::config {
namespace {

std::chrono::nanoseconds stall_after(OptionReader& reader) {
  const auto interval = reader.get<Interval>("stall-after").value;
  if (interval && interval->count() >= 0) return *interval;
  reader.error("stall-after", "a stall lasts some time", "write a duration such as 10s, or 0");
  return {};
}

}  // namespace

Result<ArbiterOptions> load_arbiter_options(const Sources& sources) {
  OptionReader reader(sources, kUseArbiter);
  ArbiterOptions options{.tenants = reader.absolute("tenants"),
                         .state_dir = reader.absolute("state-dir"),
                         .container_driver_root = reader.get<std::string>("driver-root-ctr-path"),
                         .host_root = reader.get<std::string>("host-root"),
                         .cgroup_root = reader.absolute("cgroup-root"),
                         .mps_dir = reader.absolute("mps-dir"),
                         .stall_after = stall_after(reader),
                         .check = reader.get<bool>("check"),
                         .log_level = reader.log_level()};
  return reader.result(std::move(options));
}

}  // namespace tranche::config
