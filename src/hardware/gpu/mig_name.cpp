#include "gpu/mig_name.h"

#include <fmt/format.h>

#include <charconv>

namespace tranche::gpu {
namespace {

constexpr std::uint64_t ceil_div(std::uint64_t value, std::uint64_t by) {
  return value / by + (value % by == 0 ? 0 : 1);
}

std::string_view suffix(MigKind kind) {
  switch (kind) {
    case MigKind::kMedia:
      return "+me";
    case MigKind::kAllMedia:
      return "+me.all";
    case MigKind::kNoMedia:
      return "-me";
    case MigKind::kGraphics:
      return "+gfx";
    case MigKind::kPlain:
      break;
  }
  return "";
}

// "1g.5gb", "1c.2g.10gb+me": begins with a digit and has "g." somewhere.
bool looks_like_profile(std::string_view word) {
  return !word.empty() && word.front() >= '1' && word.front() <= '9' &&
         word.find("g.") != std::string_view::npos;
}

// Parses the leading number of the text and removes it together with `unit`. nullopt: it does not
// begin so. A leading zero, and impossible sizes, are refused.
std::optional<int> take_number(std::string_view& text, std::string_view unit) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto digits = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || text.front() < '1' || text.front() > '9' || digits > 5 ||
      !text.substr(digits).starts_with(unit)) {
    return std::nullopt;
  }
  text.remove_prefix(digits + unit.size());
  return value;
}

std::optional<MigKind> kind_of(std::string_view words) {
  for (const auto kind : {MigKind::kPlain, MigKind::kMedia, MigKind::kAllMedia, MigKind::kNoMedia,
                          MigKind::kGraphics}) {
    if (suffix(kind) == words) return kind;
  }
  return std::nullopt;
}

}  // namespace

std::uint64_t mig_memory_gb(Bytes instance, Bytes gpu_total) {
  if (gpu_total.value == 0) return 0;
  const std::uint64_t eighths = ceil_div(instance.value * 8, gpu_total.value);
  const std::uint64_t gib = ceil_div(gpu_total.value, std::uint64_t{1} << 30U);
  return (eighths * gib + 4) / 8;
}

MigKind mig_kind(unsigned gpu_instance_profile) {
  switch (gpu_instance_profile) {
    case 7:
    case 8:
      return MigKind::kMedia;
    case 10:
    case 11:
    case 12:
    case 17:
      return MigKind::kGraphics;
    case 13:
    case 14:
      return MigKind::kNoMedia;
    case 15:
    case 16:
      return MigKind::kAllMedia;
    default:
      return MigKind::kPlain;
  }
}

std::string mig_profile_name(int gpu_slices, std::uint64_t memory_gb, MigKind kind) {
  return fmt::format("{}g.{}gb{}", gpu_slices, memory_gb, suffix(kind));
}

std::string compute_instance_name(std::string_view gpu_instance_name, int gpu_slices,
                                  int compute_slices) {
  if (gpu_slices == compute_slices) return std::string(gpu_instance_name);
  return fmt::format("{}c.{}", compute_slices, gpu_instance_name);
}

std::optional<MigName> parse_mig_name(std::string_view name) {
  const auto compute = take_number(name, "c.");
  const auto slices = take_number(name, "g.");
  const auto gb = slices ? take_number(name, "gb") : std::nullopt;
  const auto kind = kind_of(name);
  if (!gb || !kind || compute.value_or(*slices) > *slices) return std::nullopt;
  return MigName{.compute_slices = compute.value_or(*slices),
                 .gpu_slices = *slices,
                 .memory_gb = static_cast<std::uint64_t>(*gb),
                 .kind = *kind};
}

std::optional<int> named_compute_slices(std::string_view name) { return take_number(name, "c."); }

std::string_view gpu_instance_name(std::string_view name) {
  auto rest = name;
  return take_number(rest, "c.") ? rest : name;
}

std::string_view profile_in(std::string_view driver_text) {
  const auto space = driver_text.find_last_of(' ');
  const auto word = space == std::string_view::npos ? driver_text : driver_text.substr(space + 1);
  return looks_like_profile(word) ? word : std::string_view{};
}

}  // namespace tranche::gpu
