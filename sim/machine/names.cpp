#include "sim/machine/names.h"

#include <span>

#include "sim/machine/read_number.h"

namespace tranche::sim {
namespace {

struct Name {
  std::string_view text;
  std::uint32_t value;
};

constexpr Name kArchitectures[] = {
    {"kepler", 2}, {"maxwell", 3}, {"pascal", 4},       {"volta", 5},  {"turing", 6},
    {"ampere", 7}, {"ada", 8},     {"ada-lovelace", 8}, {"hopper", 9}, {"blackwell", 10}};
constexpr Name kBrands[] = {{"quadro", 1},  {"tesla", 2},       {"grid", 4},
                            {"geforce", 5}, {"nvidia-rtx", 13}, {"nvidia", 14}};
constexpr Name kVirtualizations[] = {
    {"none", 0}, {"passthrough", 1}, {"vgpu", 2}, {"host-vgpu", 3}};
constexpr Name kLevels[] = {{"BOARD", 0}, {"PIX", 10},  {"PXB", 20},
                            {"PHB", 30},  {"NODE", 40}, {"SYS", 50}};
constexpr Name kActions[] = {
    {"none", 0}, {"gpu-reset", 1}, {"node-reboot", 2}, {"drain-p2p", 3}, {"drain-and-reset", 4}};
constexpr Name kErrors[] = {{"SUCCESS", 0},
                            {"UNINITIALIZED", 1},
                            {"INVALID_ARGUMENT", 2},
                            {"NOT_SUPPORTED", 3},
                            {"NO_PERMISSION", 4},
                            {"ALREADY_INITIALIZED", 5},
                            {"NOT_FOUND", 6},
                            {"INSUFFICIENT_SIZE", 7},
                            {"INSUFFICIENT_POWER", 8},
                            {"DRIVER_NOT_LOADED", 9},
                            {"TIMEOUT", 10},
                            {"IRQ_ISSUE", 11},
                            {"LIBRARY_NOT_FOUND", 12},
                            {"FUNCTION_NOT_FOUND", 13},
                            {"CORRUPTED_INFOROM", 14},
                            {"GPU_IS_LOST", 15},
                            {"RESET_REQUIRED", 16},
                            {"OPERATING_SYSTEM", 17},
                            {"LIB_RM_VERSION_MISMATCH", 18},
                            {"IN_USE", 19},
                            {"MEMORY", 20},
                            {"NO_DATA", 21},
                            {"INSUFFICIENT_RESOURCES", 23},
                            {"ARGUMENT_VERSION_MISMATCH", 25},
                            {"NOT_READY", 27},
                            {"GPU_NOT_FOUND", 28},
                            {"INVALID_STATE", 29},
                            {"UNKNOWN", 999}};

std::optional<std::uint32_t> find(std::span<const Name> names, std::string_view text) {
  for (const Name& name : names) {
    if (name.text == text) return name.value;
  }
  return std::nullopt;
}

std::string_view find(std::span<const Name> names, std::uint32_t value) {
  for (const Name& name : names) {
    if (name.value == value) return name.text;
  }
  return {};
}

}  // namespace

std::optional<std::uint32_t> parse_architecture(std::string_view text) {
  return find(kArchitectures, text);
}
std::optional<std::uint32_t> parse_brand(std::string_view text) { return find(kBrands, text); }
std::optional<std::uint32_t> parse_virtualization(std::string_view text) {
  return find(kVirtualizations, text);
}
std::optional<std::uint32_t> parse_topology_level(std::string_view text) {
  return find(kLevels, text);
}
std::optional<std::uint32_t> parse_recovery_action(std::string_view text) {
  return find(kActions, text);
}

std::optional<std::uint32_t> parse_error(std::string_view text) {
  if (const auto number = read_number<std::uint32_t>(text)) return number;
  for (const std::string_view prefix : {"NVML_ERROR_", "NVML_"}) {
    if (text.starts_with(prefix)) return find(kErrors, text.substr(prefix.size()));
  }
  return find(kErrors, text);
}

std::string error_name(std::uint32_t code) {
  const std::string_view text = find(kErrors, code);
  if (text.empty()) return std::to_string(code);
  return (code == 0 ? "NVML_" : "NVML_ERROR_") + std::string(text);
}

std::string recovery_action_name(std::uint32_t action) {
  const std::string_view text = find(kActions, action);
  return text.empty() ? std::to_string(action) : std::string(text);
}

}  // namespace tranche::sim
