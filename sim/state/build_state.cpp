#include "sim/state/build_state.h"

#include <algorithm>
#include <numeric>

#include "fmt/format.h"
#include "sim/machine/identity.h"
#include "sim/machine/mig_tables.h"
#include "sim/machine/names.h"
#include "sim/machine/read_number.h"
#include "sim/state/clock.h"
#include "sim/state/mig_layout.h"

namespace tranche::sim {
namespace {

constexpr std::uint32_t kNvidiaVendor = 0x10DE;

template <std::size_t n>
Result<void> copy(char (&out)[n], std::string_view text, std::string_view what) {
  if (text.size() >= n) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: '{}' is longer than {} characters", what, text, n - 1));
  }
  text.copy(out, n - 1);
  return {};
}

std::unexpected<Error> unknown(std::string_view field, std::string_view value) {
  return fail(Code::kInvalidArgument, fmt::format("{}: unknown value '{}'", field, value),
              "see sim/README.md for the words");
}

// "12.8" -> {12, 8}
std::optional<std::pair<std::uint32_t, std::uint32_t>> parse_version(std::string_view text) {
  const auto dot = text.find('.');
  if (dot == text.npos) return std::nullopt;
  const auto major = read_number<std::uint32_t>(text.substr(0, dot));
  const auto minor = read_number<std::uint32_t>(text.substr(dot + 1));
  if (!major || !minor) return std::nullopt;
  return std::pair{*major, *minor};
}

Result<void> build_profiles(const ModelSpec& spec, Model& model) {
  if (spec.mig_table.empty()) return {};
  const MigTable* table = find_mig_table(spec.mig_table);
  if (table == nullptr) return unknown("models." + spec.key + ".mig", spec.mig_table);
  TRY(copy(model.mig_table, table->key, "mig"));
  model.compute_slices = table->compute_slices;
  model.memory_slices = table->memory_slices;
  model.mig_needs_reset = table->mode_needs_reset ? 1 : 0;
  for (const MigRow& row : table->rows) {
    Profile& profile = model.profiles[model.profile_count++];
    TRY(copy(profile.name, row.name, "profile"));
    profile.constant = row.constant;
    profile.id = row.id;
    profile.slices = row.slices;
    profile.size = row.memory_slices;
    profile.starts = row.starts;
    profile.max_instances = row.max_instances;
    profile.memory_mib = row.memory_mib;
    profile.sm = row.sm;
    profile.copy_engines = row.copy_engines;
    profile.decoders = row.decoders;
    profile.encoders = row.encoders;
    profile.jpeg = row.jpeg;
    profile.ofa = row.ofa;
  }
  return {};
}

Result<void> build_model(const ModelSpec& spec, Model& model) {
  const std::string where = "models." + spec.key;
  TRY(copy(model.name, spec.name, where + ".name"));
  TRY(copy(model.vbios, spec.vbios.empty() ? "90.00.00.00.01" : spec.vbios, where + ".vbios"));
  const auto architecture = parse_architecture(spec.architecture);
  if (!architecture) return unknown(where + ".architecture", spec.architecture);
  const auto brand = parse_brand(spec.brand);
  if (!brand) return unknown(where + ".brand", spec.brand);
  const auto capability = parse_version(spec.compute_capability);
  if (!capability) return unknown(where + ".compute_capability", spec.compute_capability);
  if (spec.reserved + spec.idle >= spec.memory) {
    return fail(Code::kInvalidArgument, where + ": reserved and idle leave no memory");
  }
  model.architecture = *architecture;
  model.brand = *brand;
  model.cc_major = capability->first;
  model.cc_minor = capability->second;
  model.memory_bytes = spec.memory;
  model.reserved_bytes = spec.reserved;
  model.idle_bytes = spec.idle;
  model.bar1_bytes = spec.bar1 == 0 ? std::uint64_t{256} << 20U : spec.bar1;
  model.context_bytes = spec.context;
  model.time_slice_ns = std::uint64_t{spec.time_slice_us} * 1000;
  model.sm_count = spec.sm;
  model.pci_device_id = spec.pci_device << 16U | kNvidiaVendor;
  model.pci_subsystem_id = spec.pci_subsystem << 16U | kNvidiaVendor;
  model.pci_class = spec.pci_class;
  model.power_limit_mw = spec.power_limit_w * 1000;
  model.idle_power_mw = spec.idle_power_w * 1000;
  model.clock_sm_mhz = spec.clock_sm;
  model.clock_memory_mhz = spec.clock_memory;
  model.pcie_generation = spec.pcie_generation;
  model.pcie_width = spec.pcie_width;
  model.sample_period_us = spec.sampling_ms * 1000;
  model.ecc = spec.ecc ? 1 : 0;
  return build_profiles(spec, model);
}

Result<void> build_instances(const GpuSpec& spec, std::string_view where, State& state, Gpu& gpu) {
  const Model& model = state.models[gpu.model];
  if (!spec.mig_enabled) {
    if (spec.mig_instances.empty()) return {};
    return fail(Code::kInvalidArgument, fmt::format("{}.mig: instances need enabled: true", where));
  }
  if (model.profile_count == 0) {
    return fail(Code::kInvalidArgument, fmt::format("{}.mig: {} has no MIG", where, model.name),
                "name a MIG table in the model's field `mig`");
  }
  gpu.mig_current.store(1);
  gpu.mig_pending.store(1);
  // The widest first: then every list that fits is placed.
  std::vector<std::size_t> order(spec.mig_instances.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto width = [&](std::size_t i) {
    const Profile* profile = profile_by_name(model, spec.mig_instances[i].profile);
    return profile == nullptr ? 0 : profile->size + (spec.mig_instances[i].start ? 16U : 0U);
  };
  std::ranges::stable_sort(order, [&](auto a, auto b) { return width(a) > width(b); });
  for (const std::size_t i : order) {
    const MigInstanceSpec& wish = spec.mig_instances[i];
    const std::string place = fmt::format("line {}: {}.mig.instances[{}]", wish.line, where, i);
    const Profile* profile = profile_by_name(model, wish.profile);
    if (profile == nullptr) return unknown(place, wish.profile);
    auto id = create_gpu_instance(state, gpu, *profile, wish.start);
    if (!id) return std::unexpected(std::move(id).error().with_context(place));
    auto sizes = wish.compute;
    if (sizes.empty()) sizes.push_back(profile->slices);
    for (const std::uint32_t size : sizes) {
      auto made = create_compute_instance(state, gpu, *id, size, std::nullopt);
      if (!made) return std::unexpected(std::move(made).error().with_context(place));
    }
  }
  return {};
}

Result<void> build_gpu(const MachineSpec& machine, std::uint32_t index, State& state) {
  const GpuSpec& spec = machine.gpus[index];
  const std::string where = fmt::format("gpus[{}]", index);
  Gpu& gpu = state.gpus[index];
  const auto model = std::ranges::find(machine.models, spec.model, &ModelSpec::key);
  if (model == machine.models.end()) return unknown(where + ".model", spec.model);
  gpu.model = static_cast<std::uint32_t>(model - machine.models.begin());
  gpu.minor = spec.minor == kNone ? index : spec.minor;
  gpu.began_ns = now_ns(state);
  const std::string words = fmt::format("{}/{}", machine.name, index);
  TRY(copy(gpu.uuid, spec.uuid.empty() ? "GPU-" + make_uuid(words) : spec.uuid, where + ".uuid"));
  const auto bytes = uuid_bytes(gpu.uuid);
  // Thirteen digits, as on the boards.
  const std::uint64_t digits =
      (std::uint64_t{bytes[0]} << 24U | bytes[1] << 16U | bytes[2] << 8U | bytes[3]) %
      10'000'000'000U;
  TRY(copy(gpu.serial, spec.serial.empty() ? fmt::format("132{:010}", digits) : spec.serial,
           where + ".serial"));
  gpu.pci = parse_pci(spec.pci).value_or(PciAddress{0, 0x10 + index * 8, 0});
  gpu.numa = static_cast<std::int32_t>(spec.numa);
  gpu.board = spec.board;
  gpu.pcie_switch = spec.pcie_switch;
  gpu.pcie_group = spec.pcie_group;
  gpu.host_bridge = spec.host_bridge;
  gpu.persistence.store(spec.persistence ? 1 : 0);
  gpu.no_reset = machine.no_reset ? 1 : 0;
  gpu.fabric_clique = machine.fabric_cluster.empty() ? kNone : machine.fabric_clique;
  if (!machine.fabric_cluster.empty()) {
    std::ranges::copy(uuid_bytes(machine.fabric_cluster), gpu.fabric_cluster);
  }
  return build_instances(spec, where, state, gpu);
}

Result<void> add_link(State& state, std::uint32_t gpu, Remote remote, std::uint32_t index) {
  for (Link& link : state.gpus[gpu].links) {
    if (link.remote != static_cast<std::uint32_t>(Remote::kNothing)) continue;
    link = {static_cast<std::uint32_t>(remote), index};
    return {};
  }
  return fail(Code::kInvalidArgument,
              fmt::format("nvlink: gpu {} has more than {} links", gpu, kMaxLinks));
}

Result<void> build_links(const MachineSpec& spec, State& state) {
  if (spec.switches.size() > kMaxSwitches) {
    return fail(Code::kInvalidArgument, fmt::format("more than {} switches", kMaxSwitches));
  }
  for (const std::string& text : spec.switches) {
    const auto address = parse_pci(text);
    if (!address) return unknown("nvlink.switches", text);
    state.switches[state.switch_count++] = *address;
  }
  for (std::uint32_t gpu = 0; state.switch_count > 0 && gpu < state.gpu_count; ++gpu) {
    for (std::uint32_t link = 0; link < spec.links_per_gpu; ++link) {
      TRY(add_link(state, gpu, Remote::kSwitch, link % state.switch_count));
    }
  }
  for (const NvLinkPair& pair : spec.pairs) {
    if (pair.a >= state.gpu_count || pair.b >= state.gpu_count || pair.a == pair.b) {
      return fail(Code::kInvalidArgument, "nvlink.pairs: no such pair of GPUs");
    }
    for (std::uint32_t i = 0; i < pair.links; ++i) {
      TRY(add_link(state, pair.a, Remote::kGpu, pair.b));
      TRY(add_link(state, pair.b, Remote::kGpu, pair.a));
    }
  }
  return {};
}

// 570.158.01 -> 12.570.158.01
std::string nvml_version(const MachineSpec& spec) {
  if (!spec.nvml_version.empty()) return spec.nvml_version;
  return spec.cuda_version.substr(0, spec.cuda_version.find('.')) + "." + spec.driver_version;
}

Result<void> build_system(const MachineSpec& spec, State& state) {
  TRY(copy(state.machine, spec.name, "machine"));
  TRY(copy(state.product, spec.product, "product"));
  TRY(copy(state.driver_version, spec.driver_version, "driver.version"));
  TRY(copy(state.nvml_version, nvml_version(spec), "driver.nvml"));
  TRY(copy(state.host_driver_version, spec.host_driver_version, "host_driver_version"));
  TRY(copy(state.host_driver_branch, spec.host_driver_branch, "host_driver_branch"));
  const auto cuda = parse_version(spec.cuda_version);
  if (!cuda) return unknown("driver.cuda", spec.cuda_version);
  state.cuda_version = cuda->first * 1000 + cuda->second * 10;
  const auto virtualization = parse_virtualization(spec.virtualization);
  if (!virtualization) return unknown("virtualization.mode", spec.virtualization);
  state.virtualization = *virtualization;
  state.numa_nodes = spec.numa_nodes;
  state.uvm_major = spec.uvm_major;
  state.node_mode = spec.node_mode;
  state.nodes_share_minor = spec.nodes_share_minor ? 1 : 0;
  state.topology_all = kNone;
  if (!spec.topology_all.empty()) {
    const auto level = parse_topology_level(spec.topology_all);
    if (!level) return unknown("topology.all", spec.topology_all);
    state.topology_all = *level;
  }
  if (!spec.init_error.empty()) {
    const auto error = parse_error(spec.init_error);
    if (!error) return unknown("driver.init_error", spec.init_error);
    state.yaml_init_error = *error;
    state.init_error.store(*error);
  }
  return {};
}

}  // namespace

Result<void> build_state(const MachineSpec& spec, State& state) {
  TRY(build_system(spec, state));
  if (spec.models.size() > kMaxModels || spec.gpus.size() > kMaxGpus) {
    return fail(Code::kInvalidArgument,
                fmt::format("at most {} models and {} GPUs", kMaxModels, kMaxGpus));
  }
  for (const ModelSpec& model : spec.models) {
    TRY(build_model(model, state.models[state.model_count]));
    state.model_count += 1;
  }
  state.gpu_count = static_cast<std::uint32_t>(spec.gpus.size());
  for (std::uint32_t i = 0; i < state.gpu_count; ++i) TRY(build_gpu(spec, i, state));
  return build_links(spec, state);
}

}  // namespace tranche::sim
