#include "config/programs/arbiter_options.h"

#include <filesystem>

#include "config/programs/option_reader.h"

namespace tranche::config {
namespace {

std::string folder(OptionReader& reader, std::string_view flag) {
  auto path = reader.get<std::string>(flag);
  if (!std::filesystem::path(path).is_absolute()) {
    reader.error(flag, fmt::format("'{}' is no absolute path", path.substr(0, 80)),
                 "write it from /");
  }
  return path;
}

}  // namespace

Result<ArbiterOptions> load_arbiter_options(const Sources& sources) {
  OptionReader reader(sources, kUseArbiter);
  ArbiterOptions options{.tenants = folder(reader, "tenants"),
                         .state_dir = folder(reader, "state-dir"),
                         .container_driver_root = reader.get<std::string>("driver-root-ctr-path"),
                         .host_root = reader.get<std::string>("host-root"),
                         .cgroup_root = folder(reader, "cgroup-root"),
                         .mps_dir = folder(reader, "mps-dir"),
                         .check = reader.get<bool>("check"),
                         .log_level = reader.log_level()};
  return reader.result(std::move(options));
}

}  // namespace tranche::config
