#include "mps/shm.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

namespace tranche::mps {
namespace {

constexpr const char* kFallback = "65536k";
constexpr std::string_view kUnits = "kKmMgG";
constexpr std::string_view kKey = "MemTotal:";

void skip_blanks(std::string_view& text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
}

}  // namespace

std::string shm_size(std::string_view meminfo) {
  const auto at = meminfo.find(kKey);
  if (at == std::string_view::npos || (at > 0 && meminfo[at - 1] != '\n')) return kFallback;
  auto line = meminfo.substr(at + kKey.size());
  line = line.substr(0, line.find('\n'));
  skip_blanks(line);
  std::uint64_t amount = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), amount);
  if (error != std::errc()) return kFallback;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  skip_blanks(line);
  if (amount < 2 || line.empty() || kUnits.find(line.front()) == kUnits.npos) return kFallback;
  return fmt::format("{}{}", amount / 2, line.front());
}

}  // namespace tranche::mps
