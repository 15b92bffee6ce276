#include "admission/quota/limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/printable.h"

namespace tranche::admission::quota {
namespace {

using json::Fields;

// More than any cluster has, and small enough for sums.
constexpr std::int64_t kMostMilli = std::int64_t{1} << 40U;
constexpr std::int64_t kMilli = 1'000'000;  // billionths

// "1e30": an amount that the API server accepts but whose thousandths do not fit into 63 bits; it
// stores 100Ei as the largest number that does. Quotas that are to limit nothing have such values.
bool is_huge(std::string_view text) {
  return !text.empty() && !text.ends_with('e') &&
         text.find_first_not_of("0123456789.eEkKMGTPi") == std::string_view::npos &&
         std::isdigit(static_cast<unsigned char>(text.front())) != 0;
}

}  // namespace

Result<std::optional<Limit>> read_limit(json::View resource_quota) {
  return json::read_fields(resource_quota, [](const Fields& top) -> std::optional<Limit> {
    const auto metadata = top.object("metadata");
    if (metadata.map("labels").contains(std::string(kOwnQuotaLabel))) return std::nullopt;
    const auto spec = top.object("spec");
    const auto hard = spec.object("hard");
    const auto used = top.object("status").object("used");
    const bool has_scopes = !spec.maybe<std::vector<std::string>>("scopes")
                                 .value_or(std::vector<std::string>())
                                 .empty() ||
                            !spec.object("scopeSelector").list("matchExpressions").empty();
    if (!hard.has(kQuotaResource) || has_scopes) return std::nullopt;
    return Limit{
        .quota = metadata.text("name"),
        .hard = amount_of(hard, Rounding::kDown).value_or(0),
        .used = amount_of(used, Rounding::kUp).value_or(0),
    };
  });
}

std::optional<std::int64_t> amount_of(const Fields& amounts, Rounding rounding) {
  if (!amounts.has(kQuotaResource)) return std::nullopt;
  const auto text = amounts.text(kQuotaResource);
  const auto milli = parse_milli_quantity(text, rounding);
  if (milli && *milli >= 0) return from_milli(*milli);
  if (!milli && is_huge(text)) return from_milli(kMostMilli);
  amounts.refuse(kQuotaResource,
                 fmt::format("is '{}', which is no number of GPUs", printable(text, 64)));
  return std::nullopt;
}

std::int64_t from_milli(std::int64_t thousandths) {
  return std::min(thousandths, kMostMilli) * kMilli;
}

std::string gpus_text(std::int64_t billionths) {
  const auto millionths = billionths / 1000 + (billionths % 1000 >= 500 ? 1 : 0);
  auto text = fmt::format("{}.{:06}", millionths / 1'000'000, millionths % 1'000'000);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace tranche::admission::quota
