#include "cdi/make_specs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "cdi/gpu_edits.h"
#include "cdi/spec.h"
#include "cdi/validate.h"

namespace tranche::cdi {
namespace {

constexpr auto kClasses =
    std::to_array<std::string_view>({"gpu", "imex-channel", "gdrcopy", "gds", "mofed"});

Spec gpu_spec(const offer::Offer& offer, const gpu::Machine& machine, const GpuEdits& edits,
              config::DeviceIdStrategy names) {
  Spec spec;
  std::set<std::string> seen;
  for (const auto& resource : offer.resources) {
    for (const auto& device : resource.devices) {
      if (!seen.insert(device.uuid).second) continue;
      const bool by_uuid = names == config::DeviceIdStrategy::kUuid;
      Device one{.name = by_uuid ? device.uuid : device.index, .edits = edits.of(device, machine)};
      // Its nodes are unknown, so it is offered as unhealthy. A runtime would refuse the whole
      // file.
      if (one.edits.empty()) continue;
      spec.devices.push_back(std::move(one));
    }
  }
  if (!spec.devices.empty()) spec.edits = edits.common();
  return spec;
}

// Missing device nodes with unknown numbers. They stay in the file, so that a container starts as
// soon as they exist.
void warn_of_missing_nodes(const Spec& spec, const DriverFiles& files, Specs& out) {
  std::set<std::string> missing;
  for (const auto& device : spec.devices) {
    for (const auto& node : device.edits.device_nodes) {
      if (!node.major && !files.nodes.contains(node.container_path)) {
        missing.insert(node.container_path);
      }
    }
  }
  if (missing.empty()) return;
  out.warnings.push_back(fmt::format(
      "device nodes are missing: {}; containers that are given their devices do not start; make "
      "the nodes by nvidia-modprobe or nvidia-smi, run on the node",
      fmt::join(missing, ", ")));
}

Spec imex_spec(const std::vector<int>& channels, const GpuEdits& edits) {
  Spec spec;
  for (const int channel : channels) {
    Device device;
    device.name = std::to_string(channel);
    edits.add_imex_node(fmt::format("/dev/nvidia-caps-imex-channels/channel{}", channel),
                        device.edits);
    spec.devices.push_back(std::move(device));
  }
  return spec;
}

// A class of one device, "all", with the nodes whose paths begin with one of `prefixes`. Empty when
// there are none.
Spec mode_spec(std::initializer_list<std::string_view> prefixes, const DriverFiles& files,
               const GpuEdits& edits) {
  Device all;
  all.name = "all";
  for (const auto& [path, numbers] : files.nodes) {
    const bool wanted =
        std::ranges::any_of(prefixes, [&path](auto prefix) { return path.starts_with(prefix); });
    if (wanted) edits.add_node(path, all.edits);
  }
  Spec spec;
  if (all.edits.empty()) return spec;
  spec.devices.push_back(std::move(all));
  spec.edits.env = {kNothingOfTheRuntime};
  return spec;
}

Spec gds_spec(const DriverFiles& files, const GpuEdits& edits) {
  auto spec = mode_spec({"/dev/nvidia-fs"}, files, edits);
  for (auto& device : spec.devices) edits.add_files(files.gds_files, device.edits);
  return spec;
}

// False: the class has no device, so it has no file.
Result<bool> add_file(std::string_view class_name, Spec spec, Specs& out) {
  if (spec.devices.empty()) return false;
  spec.kind = fmt::format("{}/{}", kVendor, class_name);
  put_in_order(spec);
  if (const auto fits = validate(spec); !fits) {
    return std::unexpected(
        Error(fits.error()).with_context(fmt::format("CDI file {}", spec_file_name(class_name))));
  }
  out.files.push_back({.name = spec_file_name(class_name),
                       .class_name = std::string(class_name),
                       .json = to_json(spec)});
  return true;
}

Result<void> add_mode(std::string_view class_name, std::string_view nodes, Spec spec, Specs& out) {
  ASSIGN_OR_RETURN(const bool added, add_file(class_name, std::move(spec), out));
  if (added) {
    out.modes.emplace_back(class_name);
    return {};
  }
  out.warnings.push_back(fmt::format(
      "{0} is enabled, but this node has no {1}: containers get no {0} devices; load its kernel "
      "module or switch it off",
      class_name, nodes));
  return {};
}

}  // namespace

Result<Specs> make_specs(const offer::Offer& offer, const gpu::Machine& machine,
                         const DriverFiles& files, const SpecOptions& options) {
  const GpuEdits edits(files, options);
  Specs out;
  auto gpus = gpu_spec(offer, machine, edits, options.id_strategy);
  warn_of_missing_nodes(gpus, files, out);
  TRY(add_file("gpu", std::move(gpus), out));
  TRY(add_file("imex-channel", imex_spec(options.imex_channels, edits), out));
  if (options.gdrcopy) {
    TRY(add_mode("gdrcopy", "/dev/gdrdrv", mode_spec({"/dev/gdrdrv"}, files, edits), out));
  }
  if (options.gds) TRY(add_mode("gds", "/dev/nvidia-fs*", gds_spec(files, edits), out));
  if (options.mofed) {
    TRY(add_mode("mofed", "/dev/infiniband",
                 mode_spec({"/dev/infiniband/uverbs", "/dev/infiniband/rdma_cm"}, files, edits),
                 out));
  }
  return out;
}

std::string spec_file_name(std::string_view class_name) {
  return fmt::format("{}-{}.json", kVendor, class_name);
}

std::span<const std::string_view> classes() { return kClasses; }

}  // namespace tranche::cdi
