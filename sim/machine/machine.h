#pragma once
// A machine as described by its YAML file (fields: sim/README.md). Parsed once in the lifetime of a
// state, by its creator (sim/state/build_state.h).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/machine/bounds.h"

namespace tranche::sim {

struct ModelSpec {
  std::string key;
  std::string name;
  std::string architecture = "ampere";
  std::string brand = "nvidia";
  std::string compute_capability;
  std::string vbios;
  std::string mig_table;
  std::uint64_t memory = 0;
  std::uint64_t reserved = 0;
  std::uint64_t idle = 0;
  std::uint64_t bar1 = 0;
  std::uint64_t context = std::uint64_t{256} << 20U;  // invented: 100 to 500 MiB on hardware
  std::uint32_t sm = 0;
  std::uint32_t pci_device = 0;
  std::uint32_t pci_subsystem = 0;
  std::uint32_t pci_class = 0x030200;
  std::uint32_t power_limit_w = 300;
  std::uint32_t idle_power_w = 30;
  std::uint32_t clock_sm = 1410;
  std::uint32_t clock_memory = 1593;
  std::uint32_t pcie_generation = 4;
  std::uint32_t pcie_width = 16;
  std::uint32_t sampling_ms = 167;
  std::uint32_t time_slice_us = 2000;  // invented: NVIDIA publishes no length
  bool ecc = true;
};

struct MigInstanceSpec {
  std::string profile;  // "2g.10gb"
  std::vector<std::uint32_t>
      compute;  // compute slices of each compute instance; empty: one with all
  std::optional<std::uint32_t> start;  // memory slice; absent: chosen automatically
  int line = 1;
};

struct GpuSpec {
  std::string model;
  std::string uuid;
  std::string serial;
  std::string pci;
  std::int64_t numa = -1;
  std::uint32_t board = kNone;
  std::uint32_t pcie_switch = kNone;
  std::uint32_t pcie_group = kNone;
  std::uint32_t host_bridge = kNone;
  std::uint32_t minor = kNone;
  bool mig_enabled = false;
  std::vector<MigInstanceSpec> mig_instances;
  bool persistence = false;
  int line = 1;
};

struct NvLinkPair {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t links = 0;
};

struct MachineSpec {
  std::string name;
  std::string product;
  std::string driver_version = "570.158.01";
  std::string nvml_version;
  std::string cuda_version = "12.8";
  std::string init_error;
  std::string virtualization = "none";
  std::string host_driver_version;
  std::string host_driver_branch;
  bool no_reset = false;
  std::uint32_t uvm_major = 511;
  std::uint32_t node_mode = 0666;
  bool nodes_share_minor = false;
  std::uint32_t numa_nodes = 1;
  std::string topology_all;
  std::vector<ModelSpec> models;
  std::vector<GpuSpec> gpus;
  std::vector<std::string> switches;
  std::uint32_t links_per_gpu = 0;
  std::vector<NvLinkPair> pairs;
  std::string fabric_cluster;
  std::uint32_t fabric_clique = 0;
};

// `file` prefixes messages. Reports all errors of the text at once, kInvalidArgument.
Result<MachineSpec> parse_machine(std::string_view text, std::string_view file);

}  // namespace tranche::sim
