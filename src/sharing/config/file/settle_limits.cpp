#include "config/file/settle_limits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace tranche::config {
namespace {

template <class T>
void take(const std::optional<T>& from, T& member) {
  if (from) member = *from;
}

Limits over(Limits limits, const FileLimits& from) {
  take(from.enforcement, limits.enforcement);
  take(from.memory, limits.memory);
  if (from.memory_hard) limits.memory_hard = from.memory_hard;
  take(from.compute, limits.compute);
  take(from.oversubscribe, limits.oversubscribe);
  take(from.policy, limits.policy);
  take(from.priority, limits.priority);
  take(from.priority_classes, limits.priority_classes);
  take(from.unregistered, limits.unregistered);
  take(from.kernel_limits, limits.kernel_limits);
  take(from.runtime_hook, limits.runtime_hook);
  return limits;
}

// Whether `hard` is less than `memory` on every device.
bool is_less(const MemoryLimit& hard, const MemoryLimit& memory) {
  if (const auto* bytes = std::get_if<Bytes>(&memory)) {
    const auto* most = std::get_if<Bytes>(&hard);
    return most != nullptr && most->value < bytes->value;
  }
  const auto* part = std::get_if<Percent>(&memory);
  const auto* most = std::get_if<Percent>(&hard);
  // A part of 100 % is not a limit.
  return part != nullptr && most != nullptr && part->permille < 1000 &&
         most->permille < part->permille;
}

void check(const FileLimits& written, const Limits& settled, const Settings& settings,
           std::string_view path, Problems& problems) {
  const auto where = [&](int line, std::string_view field) {
    return fmt::format("{}:{}: {}.{}", settings.file_name, line, path, field);
  };
  if (written.memory_hard_line > 0 && settled.on() &&
      settled.enforcement != Enforcement::kElastic) {
    problems.warn(where(written.memory_hard_line, "memoryHard"),
                  "memory is lent with enforcement elastic only, so this has no effect",
                  "write 'enforcement: elastic', or remove the key");
  }
  if (written.priority_line > 0 && settled.policy != SharePolicy::kPriority) {
    problems.warn(where(written.priority_line, "class"),
                  "classes count with policy priority only, so this has no effect",
                  "add 'policy: priority', or remove the key");
  }
  if (written.priority_classes_line > 0 && settled.policy != SharePolicy::kPriority) {
    problems.warn(where(written.priority_classes_line, "priorityClasses"),
                  "classes count with policy priority only, so this has no effect",
                  "add 'policy: priority', or remove the key");
  }
  if (written.kernel_limits_line > 0 && settled.kernel_limits && !settled.wants_kernel()) {
    problems.warn(
        where(written.kernel_limits_line, "kernelLimits"),
        "nothing here limits memory, so the kernel keeps that of claims alone (mode dra)",
        "nothing, if that is meant; else write enforcement strict or elastic and a memory "
        "limit");
  }
  if (written.runtime_hook_line > 0 && settled.runtime_hook &&
      written.enforcement == Enforcement::kOff) {
    problems.warn(where(written.runtime_hook_line, "runtimeHook"),
                  "with enforcement off only containers with claims get the hook (mode dra)",
                  "nothing, if that is meant; else write another enforcement");
  }
}

// Reports limits that are never enforced. `path`: where they are written.
void check_idle(const FileLimits& written, const Settings& settings, std::string_view path,
                Problems& problems) {
  std::vector<std::string_view> keys;
  const auto note = [&](bool is_written, std::string_view key) {
    if (is_written) keys.push_back(key);
  };
  note(written.memory.has_value(), "memory");
  note(written.memory_hard.has_value(), "memoryHard");
  note(written.compute.has_value(), "compute");
  note(written.oversubscribe.has_value(), "oversubscribe");
  note(written.unregistered.has_value(), "unregistered");
  if (keys.empty()) return;
  problems.warn(fmt::format("{}:{}: {}", settings.file_name, written.line, path),
                fmt::format("enforcement is off, so {} {} no effect", fmt::join(keys, ", "),
                            keys.size() == 1 ? "has" : "have"),
                "write 'enforcement: strict' (or account, elastic), or remove what is idle");
}

void check_hard(const FileLimits& written, const Limits& settled, const Settings& settings,
                std::string_view path, Problems& problems) {
  if (settled.enforcement != Enforcement::kElastic || !settled.memory_hard ||
      !is_less(*settled.memory_hard, settled.memory)) {
    return;
  }
  const bool by_hard = written.memory_hard_line > 0;
  problems.error(fmt::format("{}:{}: {}.{}", settings.file_name,
                             by_hard ? written.memory_hard_line : written.line, path,
                             by_hard ? "memoryHard" : "memory"),
                 fmt::format("`memoryHard` {} is less than `memory` {}",
                             to_text(*settled.memory_hard), to_text(settled.memory)),
                 "raise it, or remove it");
}

// Reports "4 tranches of 30% are more than ...": no device has that.
void check_sum(const MemoryLimit& part, std::int64_t replicas, std::string_view than,
               std::string_view key, const std::string& where, Problems& problems) {
  const auto* percent = std::get_if<Percent>(&part);
  if (percent == nullptr || percent->permille * replicas <= 1000) return;
  problems.error(
      where,
      fmt::format("{} tranches of {} are more than {} of a device", replicas, to_text(part), than),
      fmt::format("lower `{}` or `replicas`, or say `oversubscribe: true`", key));
}

// Checks what the replicas of a shared resource are promised together.
void check_promises(const FileLimitTable& from, const Settings& settings, Problems& problems) {
  const auto* sharing = active_sharing(settings);
  if (sharing == nullptr) return;
  const auto table = settle_limits(from);
  for (const auto& shared : sharing->resources) {
    const auto& name = shared.rename ? *shared.rename : shared.name;
    const auto* entry = table.find(name);
    const auto& rules = table.of(name);
    if (!rules.holds() || rules.oversubscribe) continue;
    const auto where = [&](std::string_view key) {
      return fmt::format(
          "{}:{}: tranche.limits{}.{}", settings.file_name, entry ? entry->line : table.line,
          entry ? fmt::format(".resources[{}]", entry - table.resources.data()) : "", key);
    };
    check_sum(rules.memory, shared.replicas, "the memory", "memory", where("memory"), problems);
    const auto* time = std::get_if<Percent>(&rules.compute);
    if (time == nullptr) continue;
    check_sum(*time, shared.replicas, "the time", "compute", where("compute"), problems);
  }
}

}  // namespace

void check_limits(const Settings& settings, Problems& problems) {
  if (!settings.limits) return;
  const auto& table = *settings.limits;
  const auto general = over({}, table.general);
  check(table.general, general, settings, "tranche.limits", problems);
  bool any_on = general.on();
  for (std::size_t i = 0; i < table.resources.size(); ++i) {
    const auto& written = table.resources[i];
    const auto settled = over(general, written);
    const auto path = fmt::format("tranche.limits.resources[{}]", i);
    check(written, settled, settings, path, problems);
    if (!settled.on()) check_idle(written, settings, path, problems);
    any_on = any_on || settled.on();
  }
  // Entries inherit what they omit from the general part.
  if (!any_on) check_idle(table.general, settings, "tranche.limits", problems);
}

void validate_limits(const Settings& settings, Problems& problems) {
  if (!settings.limits) return;
  const auto& table = *settings.limits;
  const auto general = over({}, table.general);
  check_hard(table.general, general, settings, "tranche.limits", problems);
  for (std::size_t i = 0; i < table.resources.size(); ++i) {
    const auto& entry = table.resources[i];
    const bool has_own = entry.enforcement || entry.memory || entry.memory_hard;
    if (!has_own) continue;
    check_hard(entry, over(general, entry), settings,
               fmt::format("tranche.limits.resources[{}]", i), problems);
  }
  check_promises(table, settings, problems);
}

LimitTable settle_limits(const FileLimitTable& from) {
  LimitTable table{.general = over({}, from.general), .line = from.general.line};
  for (const auto& entry : from.resources) {
    table.resources.push_back({*entry.name, over(table.general, entry), entry.line});
  }
  return table;
}

}  // namespace tranche::config
