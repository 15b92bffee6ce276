// nvidia-smi topo -m.

#include <algorithm>

#include "fmt/format.h"
#include "sim/smi/smi.h"

namespace tranche::sim::smi {
namespace {

std::string level_name(int level) {
  switch (level) {
    case NVML_TOPOLOGY_INTERNAL:
    case NVML_TOPOLOGY_SINGLE:
      return "PIX";
    case NVML_TOPOLOGY_MULTIPLE:
      return "PXB";
    case NVML_TOPOLOGY_HOSTBRIDGE:
      return "PHB";
    case NVML_TOPOLOGY_NODE:
      return "NODE";
    default:
      return "SYS";
  }
}

struct Links {
  unsigned int to_switch = 0;
  unsigned int to_peer = 0;
};

Links count_links(nvmlDevice_t device, const std::string& peer) {
  Links links;
  for (unsigned int link = 0; link < kNvLinkMaxLinks; ++link) {
    unsigned int active = 0;
    int type = 0;
    nvmlPciInfo_t pci = {};
    if (nvml("nvmlDeviceGetNvLinkState", device, link, &active) != NVML_SUCCESS || active == 0 ||
        nvml("nvmlDeviceGetNvLinkRemoteDeviceType", device, link, &type) != NVML_SUCCESS ||
        nvml("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, link, &pci) != NVML_SUCCESS) {
      continue;
    }
    links.to_switch += type == NVML_NVLINK_DEVICE_TYPE_SWITCH ? 1 : 0;
    links.to_peer += type == NVML_NVLINK_DEVICE_TYPE_GPU && peer == pci.busId ? 1 : 0;
  }
  return links;
}

std::string between(const GpuRow& a, const GpuRow& b) {
  const Links one = count_links(a.device, bus_id(b.device));
  if (one.to_peer > 0) return fmt::format("NV{}", one.to_peer);
  const unsigned int switched =
      std::min(one.to_switch, count_links(b.device, bus_id(a.device)).to_switch);
  if (switched > 0) return fmt::format("NV{}", switched);
  int level = NVML_TOPOLOGY_SYSTEM;
  if (nvml("nvmlDeviceGetTopologyCommonAncestor", a.device, b.device, &level) != NVML_SUCCESS) {
    return "N/A";
  }
  return level_name(level);
}

}  // namespace

int print_topology(const std::vector<GpuRow>& gpus) {
  fmt::print("\t");
  for (const GpuRow& gpu : gpus) fmt::print("GPU{}\t", gpu.index);
  fmt::print("NUMA Affinity\n");
  for (const GpuRow& row : gpus) {
    fmt::print("GPU{}\t", row.index);
    for (const GpuRow& column : gpus) {
      fmt::print("{}\t", row.index == column.index ? " X " : between(row, column));
    }
    const auto node = device_number("nvmlDeviceGetNumaNodeId", row.device);
    fmt::print("{}\n", node ? std::to_string(*node) : "N/A");
  }
  fmt::print(
      "\nLegend:\n\n"
      "  X    = Self\n"
      "  SYS  = PCIe and the link between NUMA nodes\n"
      "  NODE = PCIe and the link between host bridges of one NUMA node\n"
      "  PHB  = through one PCIe host bridge\n"
      "  PXB  = through several PCIe bridges, no host bridge\n"
      "  PIX  = through at most one PCIe bridge\n"
      "  NV#  = through a bonded set of # NVLinks\n");
  return 0;
}

}  // namespace tranche::sim::smi
