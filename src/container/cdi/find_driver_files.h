#pragma once
// Finds the driver's files by listing folders. It reads once and keeps no state.

#include <span>
#include <string>

#include "base/fs.h"
#include "base/result.h"
#include "cdi/driver_files.h"
#include "cdi/driver_roots.h"
#include "gpu/ids.h"

namespace tranche::cdi {

// `driver` if it has NVIDIA's nodes in its own /dev (a driver container's root, or the host's),
// else `host`.
FsRoot find_dev_root(const FsRoot& driver, const FsRoot& host);

// `version`: the driver's, "570.158.01". `kernel`: the running kernel's release, may be empty
// (firmware may be in a folder of that name). `gpus`: the GPUs whose display files are wanted.
// kFailedPrecondition: libcuda.so.<version> or libnvidia-ml.so.<version> is not under the driver
// root, so containers could not use a GPU; or `version` is empty.
Result<DriverFiles> find_driver_files(const DriverRoots& roots, const std::string& version,
                                      const std::string& kernel,
                                      std::span<const gpu::PciAddress> gpus);

}  // namespace tranche::cdi
