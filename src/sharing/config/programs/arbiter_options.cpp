#include "config/programs/arbiter_options.h"

#include "config/programs/option_reader.h"

namespace tranche::config {
Result<ArbiterOptions> load_arbiter_options(const Sources& sources) {
  OptionReader reader(sources, kUseArbiter);
  ArbiterOptions options{.tenants = reader.absolute("tenants"),
                         .state_dir = reader.absolute("state-dir"),
                         .container_driver_root = reader.get<std::string>("driver-root-ctr-path"),
                         .host_root = reader.get<std::string>("host-root"),
                         .cgroup_root = reader.absolute("cgroup-root"),
                         .mps_dir = reader.absolute("mps-dir"),
                         .check = reader.get<bool>("check"),
                         .log_level = reader.log_level()};
  return reader.result(std::move(options));
}

}  // namespace tranche::config
