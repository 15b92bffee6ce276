#include "values/limits.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tranche {
namespace {

template <class T>
using Word = std::pair<T, std::string_view>;

constexpr std::array kEnforcements{
    Word<Enforcement>{Enforcement::kOff, "off"},
    Word<Enforcement>{Enforcement::kAccount, "account"},
    Word<Enforcement>{Enforcement::kStrict, "strict"},
    Word<Enforcement>{Enforcement::kElastic, "elastic"},
};
constexpr std::array kPriorities{
    Word<Priority>{Priority::kLatencyCritical, "latency-critical"},
    Word<Priority>{Priority::kNormal, "normal"},
    Word<Priority>{Priority::kBestEffort, "best-effort"},
};
constexpr std::array kEnforcers{
    Word<MemoryEnforcer>{MemoryEnforcer::kMig, "mig"},
    Word<MemoryEnforcer>{MemoryEnforcer::kKernel, "kernel"},
    Word<MemoryEnforcer>{MemoryEnforcer::kMps, "mps"},
    Word<MemoryEnforcer>{MemoryEnforcer::kLimiter, "limiter"},
};

template <class Table>
std::string_view word_of(const Table& table, auto value) {
  const auto found = std::ranges::find(table, value, [](const auto& word) { return word.first; });
  return found == table.end() ? "unknown" : found->second;
}

template <class T, std::size_t N>
std::optional<T> value_of(const std::array<Word<T>, N>& table, std::string_view text) {
  const auto found = std::ranges::find(table, text, [](const auto& word) { return word.second; });
  if (found == table.end()) return std::nullopt;
  return found->first;
}

}  // namespace

bool is_enforced(Enforcement enforcement) {
  return enforcement == Enforcement::kStrict || enforcement == Enforcement::kElastic;
}

std::optional<DeviceLimits> enforced_part(const GrantLimits& limits, std::string_view device) {
  const auto found = std::ranges::find(limits.devices, device, &DeviceLimits::uuid);
  if (!is_enforced(limits.enforcement) || found == limits.devices.end()) return std::nullopt;
  return *found;
}

std::string_view to_string(Enforcement enforcement) { return word_of(kEnforcements, enforcement); }
std::string_view to_string(Priority priority) { return word_of(kPriorities, priority); }
std::string_view to_string(MemoryEnforcer enforcer) { return word_of(kEnforcers, enforcer); }
std::optional<Enforcement> enforcement_of(std::string_view word) {
  return value_of(kEnforcements, word);
}
std::optional<Priority> priority_of(std::string_view word) { return value_of(kPriorities, word); }
std::optional<MemoryEnforcer> memory_enforcer_of(std::string_view word) {
  return value_of(kEnforcers, word);
}

}  // namespace tranche
