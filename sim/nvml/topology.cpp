// PCIe topology, NVLink, P2P, NUMA and the fabric.

#include "sim/gpu/topology.h"

#include <algorithm>

#include "sim/nvml/convert.h"
#include "sim/nvml/library.h"

namespace tranche::sim {
namespace {

constexpr unsigned int kHopper = 9;
constexpr unsigned char kFabricCompleted = 3;
constexpr unsigned char kFabricNotSupported = 0;
constexpr unsigned char kFabricHealthy = 1;

// Calls `answer` with the devices of both handles.
template <class Function>
nvmlReturn_t on_pair(const char* function, nvmlDevice_t a, nvmlDevice_t b, bool arguments_given,
                     Function answer) {
  return on_gpu(function, a, arguments_given, [&](const Device& one) {
    return on_gpu(function, b, true, [&](const Device& other) { return answer(one, other); });
  });
}

// Calls `answer` with a link that the GPU has.
template <class Function>
nvmlReturn_t on_link(const char* function, nvmlDevice_t handle, unsigned int link,
                     bool arguments_given, Function answer) {
  return on_gpu(function, handle, arguments_given && link < kMaxLinks, [&](const Device& device) {
    const Link& one = device.hardware().links[link];
    if (remote_of(one) == Remote::kNothing) return NVML_ERROR_NOT_SUPPORTED;
    return answer(device, one);
  });
}

bool on_fabric(const Device& device) { return device.hardware().fabric_clique != kNone; }

template <class Info>
void fill_fabric(const Device& device, Info& info) {
  std::ranges::copy(device.hardware().fabric_cluster, info.clusterUuid);
  info.status = NVML_SUCCESS;
  info.cliqueId = on_fabric(device) ? device.hardware().fabric_clique : 0;
  info.state = on_fabric(device) ? kFabricCompleted : kFabricNotSupported;
}

}  // namespace

NVML_API nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t a, nvmlDevice_t b,
                                                          int* level) {
  return on_pair(__func__, a, b, given(level), [&](const Device& one, const Device& other) {
    *level = static_cast<int>(topology_level(one.state(), one.gpu, other.gpu));
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t handle, int level,
                                                       unsigned int* count, nvmlDevice_t* devices) {
  return on_gpu(__func__, handle, given(count), [&](const Device& device) {
    unsigned int found = 0;
    for (std::uint32_t gpu = 0; gpu < device.state().gpu_count; ++gpu) {
      if (gpu == device.gpu || !device.session.is_shown(gpu)) continue;
      if (static_cast<int>(topology_level(device.state(), device.gpu, gpu)) > level) continue;
      if (devices != nullptr && found < *count) devices[found] = gpu_handle(gpu);
      ++found;
    }
    *count = devices == nullptr ? found : std::min(found, *count);
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t a, nvmlDevice_t b, int* same) {
  return on_pair(__func__, a, b, given(same), [&](const Device& one, const Device& other) {
    const std::uint32_t board = one.hardware().board;
    *same = one.gpu == other.gpu || (board != kNone && board == other.hardware().board) ? 1 : 0;
    return NVML_SUCCESS;
  });
}

// GPUs in MIG mode do no P2P; PCIe P2P does not cross sockets (as chipsets refuse it); NVLink does.
NVML_API nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t a, nvmlDevice_t b, int capability,
                                             int* status) {
  const bool arguments =
      given(status) && capability >= 0 && capability < NVML_P2P_CAPS_INDEX_UNKNOWN;
  return on_pair(__func__, a, b, arguments, [&](const Device& one, const Device& other) {
    const bool links = nvlinks_between(one.state(), one.gpu, other.gpu) > 0;
    const auto level = static_cast<int>(topology_level(one.state(), one.gpu, other.gpu));
    if (one.hardware().mig_current.load() != 0 || other.hardware().mig_current.load() != 0) {
      *status = NVML_P2P_STATUS_NOT_SUPPORTED;
    } else if (links) {
      *status = NVML_P2P_STATUS_OK;
    } else if (capability == NVML_P2P_CAPS_INDEX_NVLINK) {
      *status = NVML_P2P_STATUS_NOT_SUPPORTED;
    } else {
      *status =
          level < NVML_TOPOLOGY_SYSTEM ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED;
    }
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t handle, unsigned int link,
                                               unsigned int* active) {
  return on_link(__func__, handle, link, given(active), [&](const Device&, const Link& one) {
    *active = is_up(one) ? 1 : 0;
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t handle, unsigned int link,
                                                 unsigned int* version) {
  return on_link(__func__, handle, link, given(version), [&](const Device& device, const Link&) {
    // NVLink 3 came with Ampere, 4 with Hopper, 5 with Blackwell.
    *version = device.model().architecture >= 10 ? 5 : device.model().architecture - 5;
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t handle, unsigned int link,
                                                          nvmlPciInfo_t* pci) {
  return on_link(__func__, handle, link, given(pci), [&](const Device& device, const Link& one) {
    const bool to_gpu = remote_of(one) == Remote::kGpu;
    const State& state = device.state();
    fill_pci(to_gpu ? state.gpus[one.index].pci : state.switches[one.index], *pci);
    if (to_gpu) pci->pciDeviceId = state.models[state.gpus[one.index].model].pci_device_id;
    return NVML_SUCCESS;
  });
}
NVML_API nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo(nvmlDevice_t handle, unsigned int link,
                                                       nvmlPciInfo_t* pci) {
  return nvmlDeviceGetNvLinkRemotePciInfo_v2(handle, link, pci);
}

NVML_API nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t handle, unsigned int link,
                                                          int* type) {
  return on_link(__func__, handle, link, given(type), [&](const Device&, const Link& one) {
    *type = remote_of(one) == Remote::kGpu ? NVML_NVLINK_DEVICE_TYPE_GPU
                                           : NVML_NVLINK_DEVICE_TYPE_SWITCH;
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetNumaNodeId(nvmlDevice_t handle, unsigned int* node) {
  return on_gpu(__func__, handle, given(node), [&](const Device& device) {
    if (device.hardware().numa < 0) return NVML_ERROR_NOT_SUPPORTED;
    *node = static_cast<unsigned int>(device.hardware().numa);
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t handle, nvmlGpuFabricInfo_t* info) {
  return on_gpu(__func__, handle, given(info), [&](const Device& device) {
    if (device.model().architecture < kHopper) return NVML_ERROR_NOT_SUPPORTED;
    fill_fabric(device, *info);
    return NVML_SUCCESS;
  });
}

// The structure of version 2 begins like that of version 3, which is what callers pass by name.
NVML_API nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t handle,
                                                  nvmlGpuFabricInfo_v3_t* info) {
  return on_gpu(__func__, handle, given(info), [&](const Device& device) {
    const bool third = info->version == struct_version<nvmlGpuFabricInfo_v3_t>(3);
    if (!third && info->version != struct_version<nvmlGpuFabricInfo_v2_t>(2)) {
      return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    }
    if (device.model().architecture < kHopper) return NVML_ERROR_NOT_SUPPORTED;
    fill_fabric(device, *info);
    info->healthMask = 0;
    if (third) info->healthSummary = on_fabric(device) ? kFabricHealthy : kFabricNotSupported;
    return NVML_SUCCESS;
  });
}

}  // namespace tranche::sim
