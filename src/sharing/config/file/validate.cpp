#include "config/file/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/edit_distance.h"
#include "config/file/settle_limits.h"
#include "config/file/trusted_paths.h"
#include "config/flags/flag_table.h"

namespace tranche::config {
namespace {

std::string shown(std::string_view text) { return std::string(text.substr(0, 80)); }

// The remedy, after the choice of the flag that the text is a misspelling of.
std::string remedy_for(std::string_view flag, std::string_view text, std::string_view remedy) {
  const auto near = nearest(text, find_flag(flag)->choices);
  return fmt::format("{}{}", near ? fmt::format("did you mean \"{}\"? ", *near) : "", remedy);
}

class Rules {
 public:
  Rules(const Settings& settings, Problems& problems) : settings_(settings), problems_(problems) {}

  void list_strategies() const {
    static constexpr std::string_view kKey = "flags.plugin.deviceListStrategy";
    for (const auto& text : *settings_.get<std::vector<std::string>>(kKey)) {
      if (device_list_strategy_of(text)) continue;
      error(kKey,
            fmt::format("invalid --device-list-strategy option: invalid strategy: {}", shown(text)),
            remedy_for("device-list-strategy", text,
                       "write one or more of envvar, volume-mounts, cdi-annotations, cdi-cri"));
    }
  }

  void id_strategy() const {
    static constexpr std::string_view kKey = "flags.plugin.deviceIDStrategy";
    if (device_id_strategy_of(text(kKey))) return;
    error(kKey, fmt::format("invalid --device-id-strategy option: {}", shown(text(kKey))),
          remedy_for("device-id-strategy", text(kKey), "write uuid or index"));
  }

  void allocation_policy() const {
    static constexpr std::string_view kKey = "flags.plugin.sharedDevicesAllocationPolicy";
    if (allocation_policy_of(text(kKey))) return;
    error(
        kKey,
        fmt::format("invalid --shared-devices-allocation-policy option: {}", shown(text(kKey))),
        remedy_for("shared-devices-allocation-policy", text(kKey), "write distributed or packed"));
  }

  void mps() const {
    if (!mps_in_force()) return;
    if (text("flags.migStrategy") == "mixed") {
      error("flags.migStrategy", "using --mig-strategy=mixed is not supported with MPS",
            "write none or single, or remove sharing.mps");
    }
    if (text("flags.mpsRoot").empty()) {
      error("flags.mpsRoot", "using MPS requires --mps-root to be specified",
            "set it to a folder on the host, usually /run/nvidia/mps");
    }
    sm_partitions();
  }

  // A path in the file comes from somebody else than the cluster administrator.
  void paths_in_file(std::vector<std::string> trusted) const {
    static constexpr std::string_view kHook = "flags.plugin.nvidiaCTKPath";
    static constexpr std::string_view kDriver = "flags.nvidiaDriverRoot";
    path_in_file(kDriver, {"/"}, trusted);
    path_in_file("flags.nvidiaDevRoot", {"/"}, trusted);
    path_in_file("flags.plugin.containerDriverRoot", {"/", "/driver-root"}, trusted);
    // Not the folders below: containers write there.
    path_in_file("flags.mpsRoot", {"/run/nvidia/mps", "/run/nvidia/mps/"}, trusted);
    if (!is_in_file(kHook)) return;
    if (!is_in_file(kDriver) && text(kDriver) != "/") trusted.push_back(text(kDriver));
    auto why = why_untrusted(text(kHook), trusted);
    if (!why) why = why_no_hook(text(kHook));
    if (why)
      error_of_ours(kHook, *why, "set the path by --nvidia-cdi-hook-path (NVIDIA_CDI_HOOK_PATH)");
  }

  // The files of feature labels: root writes one of them, and publishes what it reads from the
  // other.
  void label_files_in_file(std::vector<std::string> trusted) const {
    path_in_file("flags.gfd.machineTypeFile", {"/sys/class/dmi/id/product_name"}, trusted);
    trusted.emplace_back("/etc/kubernetes/node-feature-discovery/features.d");
    path_in_file("flags.gfd.outputFile", {}, trusted);
  }

  void discovery_strategy(bool vfio) const {
    static constexpr std::string_view kKey = "flags.deviceDiscoveryStrategy";
    const auto value = discovery_strategy_of(text(kKey));
    if (value && (vfio || *value != DiscoveryStrategy::kVfio)) {
      if (*value == DiscoveryStrategy::kAuto || *value == DiscoveryStrategy::kNvml) return;
      return error(kKey,
                   fmt::format("device discovery strategy {} is not supported yet", text(kKey)),
                   "write auto or nvml");
    }
    error(kKey, fmt::format("invalid --device-discovery-strategy option {}", shown(text(kKey))),
          vfio ? "write auto, nvml, tegra or vfio" : "write auto, nvml or tegra");
  }

  void hook_program() const {
    static constexpr std::string_view kKey = "flags.plugin.nvidiaCTKPath";
    if (!uses_cdi() || !text(kKey).empty()) return;
    error(kKey,
          "invalid --nvidia-cdi-hook-path option: it is empty, and CDI files name the hook program",
          "name it (usually /usr/bin/nvidia-cdi-hook), leave the flag and NVIDIA_CDI_HOOK_PATH "
          "out, or set --cdi-disable-hooks=all");
  }

  void mig_strategy() const {
    static constexpr std::string_view kKey = "flags.migStrategy";
    if (mig_strategy_of(text(kKey))) return;
    error(kKey, fmt::format("unknown MIG strategy: {}", shown(text(kKey))),
          remedy_for("mig-strategy", text(kKey), "write none, single or mixed"));
  }

  void imex() const {
    static constexpr std::string_view kKey = "imex.channelIDs";
    const auto& ids = *settings_.get<std::vector<std::int64_t>>(kKey);
    if (ids.empty() || (ids.size() == 1 && ids[0] == 0)) return;
    error(
        kKey,
        fmt::format("invalid IMEX channel IDs: invalid IMEX config: channelIDs must be [] or [0]; "
                    "found [{}]",
                    fmt::join(ids.begin(),
                              ids.begin() +
                                  static_cast<std::ptrdiff_t>(std::min<std::size_t>(ids.size(), 8)),
                              " ")),
        "write [] or [0]");
  }

 private:
  const std::string& text(std::string_view key) const { return *settings_.get<std::string>(key); }

  bool is_in_file(std::string_view key) const {
    const auto* setting = settings_.find(key);
    return setting != nullptr && setting->place.from == Place::From::kFile;
  }

  // Usual paths are allowed too.
  void path_in_file(std::string_view key, std::initializer_list<std::string_view> usual,
                    const std::vector<std::string>& trusted) const {
    if (!is_in_file(key) || text(key).empty()) return;
    if (std::ranges::find(usual, text(key)) != usual.end()) return;
    if (const auto why = why_untrusted(text(key), trusted)) {
      error_of_ours(key, *why, "name its folder by --trusted-folders, or set the path by its flag");
    }
  }

  // A process, and so a container, has one SM partition.
  void sm_partitions() const {
    const auto& control = settings_.control;
    const bool wanted = control && control->sm_partitions &&
                        !std::holds_alternative<std::monostate>(*control->sm_partitions);
    if (!wanted || settings_.mps->fail_requests_greater_than_one.value_or(true)) return;
    problems_.error(fmt::format("{}:{}: tranche.mps.smPartitions", settings_.file_name,
                                control->sm_partitions_line),
                    "a container has one SM partition, and could ask for several replicas",
                    "write failRequestsGreaterThanOne: true in sharing.mps, or remove the key");
  }

  bool uses_cdi() const {
    const auto& strategies =
        *settings_.get<std::vector<std::string>>("flags.plugin.deviceListStrategy");
    return std::ranges::any_of(strategies, [](const std::string& text) {
      const auto value = device_list_strategy_of(text);
      return value == DeviceListStrategy::kCdiAnnotations || value == DeviceListStrategy::kCdiCri;
    });
  }

  bool mps_in_force() const {
    return settings_.mps && std::ranges::any_of(settings_.mps->resources,
                                                [](const auto& r) { return r.replicas > 1; });
  }

  // NVIDIA's phrase, then the place: its chain of causes stays in one piece, so that users find it
  // by searching.
  void error(std::string_view key, std::string_view what, std::string_view remedy) const {
    problems_.error({.code = Code::kFailedPrecondition,
                     .what = fmt::format("{} ({})", what, settings_.where(key)),
                     .hint = std::string(remedy)});
  }
  void error_of_ours(std::string_view key, std::string_view what, std::string_view remedy) const {
    problems_.error(settings_.where(key), what, remedy);
  }

  const Settings& settings_;
  Problems& problems_;
};

}  // namespace

void validate(const Settings& settings, Program program, const FlagsAlone& flags,
              Problems& problems) {
  const Rules rules(settings, problems);
  const bool agent = program == Program::kAgent;
  // In NVIDIA's order: its programs report only the first.
  if (agent) {
    rules.list_strategies();
    rules.id_strategy();
    rules.allocation_policy();
    rules.mps();
    if (flags.cdi_hooks) rules.hook_program();
  }
  rules.discovery_strategy(!agent);
  rules.mig_strategy();
  if (agent) {
    rules.imex();
    rules.paths_in_file(flags.trusted_folders);
    validate_limits(settings, problems);
  }
  rules.label_files_in_file(flags.trusted_folders);
}

}  // namespace tranche::config
