#pragma once
// Kubelet's checkpoint of devices, <kubelet root>/device-plugins/kubelet_internal_checkpoint. The
// device manager stores Allocate's answers and their containers in it:
//   {"Data":{"PodDeviceEntries":[{"PodUID":"..","ContainerName":"..","ResourceName":"..",
//     "DeviceIDs":{"<NUMA node>":["id"]},"AllocResp":".."}],"RegisteredDevices":{..}},
//    "Checksum":1}
// (pkg/kubelet/cm/devicemanager/checkpoint). Kubelets before 1.20 have a list of ids instead of the
// map. The checksum covers Go's own dump of the structure, and is not checked here; kubelet
// replaces the file atomically.

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/pod_resources.h"

namespace tranche::kubelet {

inline constexpr std::string_view kCheckpointName = "kubelet_internal_checkpoint";

// kInvalidArgument: this is not such a checkpoint, or one of its entries cannot be read.
Result<std::vector<cluster::HeldDevices>> parse_checkpoint(std::string_view text);

// Empty if there is no such file in an existing folder. Any other failure is an error.
Result<std::vector<cluster::HeldDevices>> read_checkpoint(const std::filesystem::path& file);

}  // namespace tranche::kubelet
