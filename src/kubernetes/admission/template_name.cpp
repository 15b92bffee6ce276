#include "admission/template_name.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <limits>

#include "admission/names.h"

namespace tranche::admission {
namespace {

constexpr std::size_t kLongestName = 253;  // of a ResourceClaimTemplate
constexpr std::size_t kMostTogether = 32;  // requests of one claim
constexpr std::string_view kTogether = "together-";

std::string word_of(const Share& share) {
  if (!share.memory) return std::to_string(share.percent);
  const auto mib = share.memory->mib();
  return mib % 1024 == 0 ? fmt::format("{}gi-{}", mib / 1024, share.percent)
                         : fmt::format("{}mi-{}", mib, share.percent);
}

std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return value;
}

bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

// The caller verifies the form by encoding the result again.
std::optional<Share> take_share(std::string_view& text) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max() >> 30U;
  auto number = take_number(text);
  if (!number || *number == 0 || *number > kMost) return std::nullopt;
  Share share;
  const bool in_gib = take_word(text, "gi-");
  if (in_gib || take_word(text, "mi-")) {
    share.memory = Bytes{*number << (in_gib ? 30U : 20U)};
    number = take_number(text);
  }
  if (!number || *number < 1 || *number > (share.memory ? 100 : 99)) return std::nullopt;
  share.percent = static_cast<int>(*number);
  return share;
}

}  // namespace

Result<std::string> template_name(const std::vector<Share>& shares) {
  auto name = fmt::format("{}-{}", kOurPrefix, shares.size() > 1 ? kTogether : "");
  for (const auto& share : shares) name += word_of(share) + '-';
  name.pop_back();
  if (name.size() <= kLongestName && shares.size() <= kMostTogether) return name;
  return fail(
      Code::kInvalidArgument, fmt::format("{} shares are too many for one GPU", shares.size()),
      fmt::format("use fewer containers, or do without the annotation {}", kTogetherAnnotation));
}

std::optional<std::vector<Share>> parse_template_name(std::string_view name) {
  std::vector<Share> shares;
  auto rest = name;
  if (name.size() > kLongestName || !take_word(rest, kOurPrefix) || !take_word(rest, "-")) {
    return std::nullopt;
  }
  take_word(rest, kTogether);
  do {
    const auto share = take_share(rest);
    if (!share) return std::nullopt;
    shares.push_back(*share);
  } while (take_word(rest, "-"));
  if (!rest.empty() || template_name(shares) != name) return std::nullopt;
  return shares;
}

}  // namespace tranche::admission
