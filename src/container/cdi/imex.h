#pragma once
// IMEX channels: device nodes through which containers share memory over a multi-node NVLink
// domain.

#include <string>
#include <vector>

#include "base/fs.h"
#include "base/result.h"
#include "config/config.h"

namespace tranche::cdi {

struct ImexChannels {
  std::vector<int> ids;  // the existing channels, in the configuration's order
  std::vector<std::string> warnings;
};

// A channel exists if its node exists in one of these places: under the driver's root as this
// process sees it (`driver`, flags.plugin.containerDriverRoot), where NVIDIA's DaemonSet has the
// host's /dev; under the host's dev root (`dev_root`, flags.nvidiaDevRoot, seen through `host`); in
// this process's own /dev. kFailedPrecondition: a channel is missing and imex.required is set.
Result<ImexChannels> find_imex_channels(const FsRoot& driver, const FsRoot& host,
                                        const std::string& dev_root, const config::Imex& imex);

}  // namespace tranche::cdi
