#include "config/file/settle_limits.h"

#include <fmt/format.h>

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

}  // namespace

void check_limits(const Settings& settings, Problems& problems) {
  if (!settings.limits) return;
  const auto& table = *settings.limits;
  const auto general = over({}, table.general);
  check(table.general, general, settings, "tranche.limits", problems);
  for (std::size_t i = 0; i < table.resources.size(); ++i) {
    check(table.resources[i], over(general, table.resources[i]), settings,
          fmt::format("tranche.limits.resources[{}]", i), problems);
  }
}

LimitTable settle_limits(const FileLimitTable& from) {
  LimitTable table{.general = over({}, from.general), .line = from.general.line};
  for (const auto& entry : from.resources) {
    table.resources.push_back({*entry.name, over(table.general, entry), entry.line});
  }
  return table;
}

}  // namespace tranche::config
