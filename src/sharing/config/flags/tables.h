#pragma once
// The flag tables of the programs, one file each, joined by flag_table.cpp. A flag that several
// programs take is in the first one's table, or in cluster_flags.cpp.

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "config/flags/flag_spec.h"

namespace tranche::config {

template <std::size_t N>
struct Text {
  // NOLINTNEXTLINE(google-explicit-constructor): a literal is a Text.
  consteval Text(const char (&text)[N]) { std::ranges::copy(text, data); }
  char data[N];
};

// kNames<"A", "B"> is a list of names with static storage.
template <Text... texts>
inline constexpr std::array<std::string_view, sizeof...(texts)> kNames = {
    std::string_view(texts.data, sizeof(texts.data) - 1)...};

inline constexpr unsigned kDiscovery = kUseFeatureDiscovery | kUseLabels;
// The programs that run on each node and read its GPUs.
inline constexpr unsigned kNode = kUseAgent | kDiscovery;

std::span<const FlagSpec> device_plugin_flags();
std::span<const FlagSpec> feature_discovery_flags();
std::span<const FlagSpec> cluster_flags();
std::span<const FlagSpec> agent_flags();
std::span<const FlagSpec> config_manager_flags();
std::span<const FlagSpec> controller_flags();
std::span<const FlagSpec> cleanup_flags();
std::span<const FlagSpec> limit_flags();
std::span<const FlagSpec> layout_flags();
std::span<const FlagSpec> lint_flags();
std::span<const FlagSpec> doctor_flags();
std::span<const FlagSpec> snapshot_flags();
std::span<const FlagSpec> top_flags();
std::span<const FlagSpec> report_flags();
std::span<const FlagSpec> arbiter_flags();
std::span<const FlagSpec> incident_flags();
std::span<const FlagSpec> output_flags();

}  // namespace tranche::config
