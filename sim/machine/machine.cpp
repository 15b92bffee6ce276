#include "sim/machine/machine.h"

#include <algorithm>

#include "base/yaml.h"
#include "fmt/format.h"
#include "sim/machine/fields.h"
#include "sim/machine/identity.h"
#include "sim/machine/read_number.h"

namespace tranche::sim {
namespace {

void read_driver(Fields& fields, MachineSpec& spec, Complaints& complaints) {
  const yaml::Node* node = fields.find("driver");
  if (node == nullptr) return;
  Fields driver(*node, fields.path_of("driver"), complaints);
  driver.text("version", spec.driver_version);
  driver.text("nvml", spec.nvml_version);
  driver.text("cuda", spec.cuda_version);
  driver.text("init_error", spec.init_error);
}

void read_nodes(Fields& fields, MachineSpec& spec, Complaints& complaints) {
  const yaml::Node* node = fields.find("device_nodes");
  if (node == nullptr) return;
  Fields nodes(*node, fields.path_of("device_nodes"), complaints);
  nodes.number("uvm_major", spec.uvm_major, 1, 4095);
  nodes.number("mode", spec.node_mode, 0, 0777);
  nodes.flag("share_minor", spec.nodes_share_minor);
}

void read_virtualization(Fields& fields, MachineSpec& spec, Complaints& complaints) {
  const yaml::Node* node = fields.find("virtualization");
  if (node == nullptr) return;
  Fields virt(*node, fields.path_of("virtualization"), complaints);
  virt.text("mode", spec.virtualization, true);
  virt.text("host_driver_version", spec.host_driver_version);
  virt.text("host_driver_branch", spec.host_driver_branch);
  virt.flag("no_reset", spec.no_reset);
}

void read_nvlink(Fields& fields, MachineSpec& spec, Complaints& complaints) {
  const yaml::Node* node = fields.find("nvlink");
  if (node == nullptr) return;
  Fields nvlink(*node, fields.path_of("nvlink"), complaints);
  for (const yaml::Node& item : nvlink.list("switches")) spec.switches.push_back(item.scalar);
  nvlink.number("links_per_gpu", spec.links_per_gpu, 0, kMaxLinks);
  std::uint32_t mesh = 0;
  nvlink.number("mesh", mesh, 0, kMaxLinks);
  const auto count = static_cast<std::uint32_t>(spec.gpus.size());
  for (std::uint32_t a = 0; mesh > 0 && a < count; ++a) {
    for (std::uint32_t b = a + 1; b < count; ++b) spec.pairs.push_back({a, b, mesh});
  }
  const auto& pairs = nvlink.list("pairs");
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    Fields pair(pairs[i], fmt::format("nvlink.pairs[{}]", i), complaints);
    NvLinkPair value;
    pair.number("a", value.a, 0, kMaxGpus - 1, true);
    pair.number("b", value.b, 0, kMaxGpus - 1, true);
    pair.number("links", value.links, 1, kMaxLinks, true);
    spec.pairs.push_back(value);
  }
}

void read_model(const yaml::Entry& entry, MachineSpec& spec, Complaints& complaints) {
  ModelSpec model;
  model.key = entry.key;
  Fields fields(entry.value, "models." + entry.key, complaints);
  fields.text("name", model.name, true);
  fields.text("architecture", model.architecture);
  fields.text("brand", model.brand);
  fields.text("compute_capability", model.compute_capability, true);
  fields.text("vbios", model.vbios);
  fields.text("mig", model.mig_table);
  fields.bytes("memory", model.memory, true);
  fields.bytes("reserved", model.reserved);
  fields.bytes("idle", model.idle);
  fields.bytes("bar1", model.bar1);
  fields.bytes("context", model.context);
  fields.number("sm", model.sm, 1, 1024, true);
  fields.number("pci_device", model.pci_device, 1, 0xFFFF, true);
  fields.number("pci_subsystem", model.pci_subsystem, 0, 0xFFFF);
  fields.number("pci_class", model.pci_class, 0x030000, 0x0302FF);
  fields.number("power_limit_w", model.power_limit_w, 1, 5000);
  fields.number("idle_power_w", model.idle_power_w, 0, 5000);
  fields.number("clock_sm", model.clock_sm, 1, 10000);
  fields.number("clock_memory", model.clock_memory, 1, 50000);
  fields.number("pcie_generation", model.pcie_generation, 1, 8);
  fields.number("pcie_width", model.pcie_width, 1, 32);
  fields.number("sampling_ms", model.sampling_ms, 10, 10000);
  fields.number("time_slice_us", model.time_slice_us, 10, 1'000'000);
  fields.flag("ecc", model.ecc);
  spec.models.push_back(std::move(model));
}

// "2g.10gb", "2g.10gb@4" (memory slice 4), "1c.2g.10gb" (one compute instance of one slice).
MigInstanceSpec parse_instance(std::string_view text, int line) {
  MigInstanceSpec instance;
  instance.line = line;
  if (const auto at = text.find('@'); at != text.npos) {
    instance.start = read_number<std::uint32_t>(text.substr(at + 1)).value_or(kNone);
    text = text.substr(0, at);
  }
  if (const auto dot = text.find("c."); dot != text.npos) {
    if (const auto slices = read_number<std::uint32_t>(text.substr(0, dot))) {
      instance.compute.push_back(*slices);
      text = text.substr(dot + 2);
    }
  }
  instance.profile = text;
  return instance;
}

void read_mig_instance(const yaml::Node& node, std::string path, GpuSpec& gpu,
                       Complaints& complaints) {
  if (node.kind == yaml::Kind::kScalar) {
    gpu.mig_instances.push_back(parse_instance(node.scalar, node.line));
    return;
  }
  MigInstanceSpec instance;
  instance.line = node.line;
  Fields fields(node, std::move(path), complaints);
  fields.text("profile", instance.profile, true);
  std::uint32_t start = kNone;
  fields.number("start", start, 0, 15);
  if (start != kNone) instance.start = start;
  for (const yaml::Node& item : fields.list("compute")) {
    const auto slices = yaml::as_int(item);
    if (!slices || *slices < 1 || *slices > 8) {
      fields.complain(item.line, "compute", "expected numbers of compute slices from 1 to 8");
      continue;
    }
    instance.compute.push_back(static_cast<std::uint32_t>(*slices));
  }
  gpu.mig_instances.push_back(std::move(instance));
}

void read_gpu_mig(Fields& fields, GpuSpec& gpu, Complaints& complaints) {
  const yaml::Node* node = fields.find("mig");
  if (node == nullptr) return;
  Fields mig(*node, fields.path_of("mig"), complaints);
  mig.flag("enabled", gpu.mig_enabled);
  const auto& instances = mig.list("instances");
  for (std::size_t i = 0; i < instances.size(); ++i) {
    read_mig_instance(instances[i], mig.path_of(fmt::format("instances[{}]", i)), gpu, complaints);
  }
}

void read_gpu(const yaml::Node& node, std::size_t index, MachineSpec& spec,
              Complaints& complaints) {
  GpuSpec gpu;
  gpu.line = node.line;
  Fields fields(node, fmt::format("gpus[{}]", index), complaints);
  fields.text("model", gpu.model, true);
  fields.text("uuid", gpu.uuid);
  fields.text("serial", gpu.serial);
  fields.text("pci", gpu.pci);
  if (!gpu.pci.empty() && !parse_pci(gpu.pci)) {
    fields.complain(node.line, "pci", "expected an address such as 0000:3B:00.0");
  }
  std::uint32_t numa = kNone;
  fields.number("numa", numa, 0, 255);
  if (numa != kNone) gpu.numa = numa;
  fields.number("board", gpu.board, 0, 255);
  fields.number("switch", gpu.pcie_switch, 0, 255);
  fields.number("switch_group", gpu.pcie_group, 0, 255);
  fields.number("host_bridge", gpu.host_bridge, 0, 255);
  fields.number("minor", gpu.minor, 0, 255);
  fields.flag("persistence", gpu.persistence);
  read_gpu_mig(fields, gpu, complaints);
  spec.gpus.push_back(std::move(gpu));
}

void read_fabric(Fields& fields, MachineSpec& spec, Complaints& complaints) {
  const yaml::Node* node = fields.find("fabric");
  if (node == nullptr) return;
  Fields fabric(*node, fields.path_of("fabric"), complaints);
  fabric.text("cluster", spec.fabric_cluster, true);
  fabric.number("clique", spec.fabric_clique, 0, 0x7FFFFFFF);
}

void read_topology(Fields& fields, MachineSpec& spec, Complaints& complaints) {
  const yaml::Node* node = fields.find("topology");
  if (node == nullptr) return;
  Fields topology(*node, fields.path_of("topology"), complaints);
  topology.number("numa_nodes", spec.numa_nodes, 1, 64);
  topology.text("all", spec.topology_all);
}

}  // namespace

Result<MachineSpec> parse_machine(std::string_view text, std::string_view file) {
  ASSIGN_OR_RETURN(const yaml::Document document, yaml::parse(text, file));
  Complaints complaints{std::string(file)};
  MachineSpec spec;
  for (const yaml::DuplicateKey& key : document.duplicates) {
    complaints.add(key.line, key.key, fmt::format("written before in line {}", key.first_line));
  }
  {
    Fields fields(document.root, "", complaints);
    fields.text("machine", spec.name, true);
    fields.text("product", spec.product);
    read_driver(fields, spec, complaints);
    read_virtualization(fields, spec, complaints);
    read_nodes(fields, spec, complaints);
    read_topology(fields, spec, complaints);
    if (const yaml::Node* models = fields.find("models")) {
      for (const yaml::Entry& entry : models->entries) read_model(entry, spec, complaints);
    }
    const auto& gpus = fields.list("gpus");
    for (std::size_t i = 0; i < gpus.size(); ++i) read_gpu(gpus[i], i, spec, complaints);
    read_nvlink(fields, spec, complaints);
    read_fabric(fields, spec, complaints);
  }
  TRY(complaints.result());
  return spec;
}

}  // namespace tranche::sim
