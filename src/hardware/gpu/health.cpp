#include "gpu/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace tranche::gpu {
namespace {

std::string lower_trimmed(std::string_view text) {
  std::string word;
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) != 0) continue;
    word.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  }
  return word;
}

std::vector<std::string> words_of(std::string_view list) {
  std::vector<std::string> words;
  while (!list.empty()) {
    const auto comma = list.find(',');
    if (auto word = lower_trimmed(list.substr(0, comma)); !word.empty()) {
      words.push_back(std::move(word));
    }
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return words;
}

// Adds the XID that `word` names to `xids`, or a warning.
void add_xid(const std::string& word, const char* variable, std::set<std::uint64_t>& xids,
             std::vector<std::string>& warnings) {
  std::uint64_t xid = 0;
  const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), xid);
  if (error == std::errc() && stop == word.data() + word.size()) {
    xids.insert(xid);
    return;
  }
  warnings.push_back(
      fmt::format("{}: '{}' is no XID and is ignored; name numbers, or 'all'", variable, word));
}

// nvmlDeviceGpuRecoveryAction_t in words; nullptr for actions during which the GPU can still work
// (none, drain peer-to-peer traffic, recover the IMEX domain).
const char* blocking_action(int action) {
  switch (action) {
    case 1:
      return "a GPU reset (nvidia-smi --gpu-reset)";
    case 2:
    case 7:
      return "a reboot of the node";
    case 4:
      return "that work is drained and the GPU reset (nvidia-smi --gpu-reset)";
    case 6:
      return "a reset of its PCIe bus (reboot the node)";
    default:
      return nullptr;
  }
}

// Of an XID that asks for a reset, once all has come but the quiet time.
std::string after_reset(std::uint64_t xid, const Gpu& gpu, std::chrono::seconds quiet) {
  return fmt::format(
      "XID {}: {}; it is handed out {} s after the XID, if no other comes", xid,
      gpu.recovery_action ? "the driver asks for no reset any more" : "the GPU was reset since",
      quiet.count());
}

}  // namespace

XidPolicy make_xid_policy(std::string_view disable, std::string_view enable) {
  XidPolicy policy;
  // Faults of applications, not of the hardware. NVIDIA's plugin ignores the same ones.
  policy.ignored = {13, 31, 43, 45, 68, 109};
  for (const auto& word : words_of(disable)) {
    if (word == "all" || word == "xids") {
      policy.ignore_all = true;
    } else {
      add_xid(word, "DP_DISABLE_HEALTHCHECKS", policy.ignored, policy.warnings);
    }
  }
  for (const auto& word : words_of(enable)) {
    if (word == "all" || word == "xids") {
      policy.count_all = true;
    } else {
      add_xid(word, "DP_ENABLE_HEALTHCHECKS", policy.counted, policy.warnings);
    }
  }
  return policy;
}

bool needs_reset(std::uint64_t xid) {
  // The XIDs whose resolution is a reset or reboot: https://docs.nvidia.com/deploy/xid-errors.
  static constexpr std::array<std::uint64_t, 10> kReset = {46, 48,  62,  64,  79,
                                                           95, 119, 120, 140, 143};
  return std::ranges::find(kReset, xid) != kReset.end();
}

HealthTracker::HealthTracker(XidPolicy policy, std::chrono::milliseconds quiet)
    : policy_(std::move(policy)), quiet_(quiet) {}

void HealthTracker::on_xid(const XidEvent& event, TimePoint now) {
  if (!policy_.counts(event.xid)) return;
  faults_[{.gpu = event.gpu,
           .gpu_instance_id = event.gpu_instance_id,
           .compute_instance_id = event.compute_instance_id,
           .needs_reset = needs_reset(event.xid)}] = {.xid = event.xid, .at = now};
}

void HealthTracker::on_reading(const Machine& machine, TimePoint now) {
  last_reading_ = now;
  for (const Gpu& gpu : machine.gpus) {
    if (gpu.presence == Presence::kLost) last_lost_[gpu.uuid] = now;
  }
  std::erase_if(faults_, [&](const auto& entry) {
    bool concerns_any = false;
    for (const Gpu& gpu : machine.gpus) {
      if (entry.first.gpu && *entry.first.gpu != gpu.uuid) continue;
      concerns_any = true;
      if (!recovered(entry.first, entry.second, gpu, now)) return false;
    }
    return concerns_any;
  });
}

void HealthTracker::forget() {
  faults_.clear();
  last_lost_.clear();
}

bool HealthTracker::recovered(const Place& place, const Fault& fault, const Gpu& gpu,
                              TimePoint now) const {
  if (gpu.presence != Presence::kPresent || now < fault.at + quiet_) return false;
  // A reading from before the fault does not show whether the GPU works after it.
  if (!last_reading_ || *last_reading_ < fault.at) return false;
  if (gpu.recovery_action) return *gpu.recovery_action == 0;
  if (!place.needs_reset) return true;
  const auto lost = last_lost_.find(gpu.uuid);
  return lost != last_lost_.end() && lost->second >= fault.at;
}

std::string HealthTracker::describe(const Place& place, const Fault& fault) const {
  if (place.needs_reset) {
    return fmt::format("XID {}: the GPU must be reset (nvidia-smi --gpu-reset, or reboot the node)",
                       fault.xid);
  }
  return fmt::format("XID {}: until {} s pass without another and the driver asks for nothing",
                     fault.xid, std::chrono::duration_cast<std::chrono::seconds>(quiet_).count());
}

std::string HealthTracker::gpu_reason(const Gpu& gpu, TimePoint now) const {
  if (gpu.presence == Presence::kLost) return "the GPU is lost: " + gpu.presence_reason;
  if (gpu.presence == Presence::kUnknown) return "the driver hangs: " + gpu.presence_reason;
  // If a device has several faults, report the one that takes most to recover from.
  std::string reason;
  for (const auto& [place, fault] : faults_) {
    if (place.gpu_instance_id || (place.gpu && *place.gpu != gpu.uuid)) continue;
    if (recovered(place, fault, gpu, now)) continue;
    if (place.needs_reset && recovered(place, fault, gpu, TimePoint::max())) {
      return after_reset(fault.xid, gpu, std::chrono::duration_cast<std::chrono::seconds>(quiet_));
    }
    if (place.needs_reset) return describe(place, fault);
    if (reason.empty()) reason = describe(place, fault);
  }
  if (!reason.empty()) return reason;
  const char* action = gpu.recovery_action ? blocking_action(*gpu.recovery_action) : nullptr;
  if (action == nullptr || !policy_.listens()) return {};
  return fmt::format("the driver asks for {}", action);
}

std::string HealthTracker::instance_reason(const Gpu& gpu, const MigInstance& instance,
                                           TimePoint now) const {
  for (const auto& [place, fault] : faults_) {
    if (place.gpu && *place.gpu != gpu.uuid) continue;
    if (place.gpu_instance_id != instance.gpu_instance_id) continue;
    if (place.compute_instance_id && *place.compute_instance_id != instance.compute_instance_id) {
      continue;
    }
    if (recovered(place, fault, gpu, now)) continue;
    if (place.needs_reset && recovered(place, fault, gpu, TimePoint::max())) {
      return after_reset(fault.xid, gpu, std::chrono::duration_cast<std::chrono::seconds>(quiet_));
    }
    return describe(place, fault);
  }
  return {};
}

HealthReport HealthTracker::report(const Machine& machine, TimePoint now) const {
  HealthReport report;
  for (const Gpu& gpu : machine.gpus) {
    const std::string whole = gpu_reason(gpu, now);
    if (!whole.empty()) report[gpu.uuid.value] = whole;
    for (const MigInstance& instance : gpu.mig_instances) {
      std::string reason = whole.empty() ? instance_reason(gpu, instance, now) : whole;
      if (!reason.empty()) report[instance.uuid.value] = std::move(reason);
    }
  }
  return report;
}

std::optional<HealthTracker::TimePoint> HealthTracker::next_change(TimePoint now) const {
  std::optional<TimePoint> next;
  for (const auto& [place, fault] : faults_) {
    const auto at = fault.at + quiet_;
    if (at > now && (!next || at < *next)) next = at;
  }
  return next;
}

}  // namespace tranche::gpu
