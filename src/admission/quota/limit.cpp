#include "admission/quota/limit.h"

#include <fmt/format.h>

#include "base/json_fields.h"
#include "base/printable.h"
#include "base/quantity.h"

namespace tranche::admission::quota {
namespace {

using json::Fields;

std::int64_t amount_of(const Fields& amounts, Rounding rounding) {
  const auto text = amounts.text(kQuotaResource);
  const auto milli = parse_milli_quantity(text, rounding);
  if (milli && *milli >= 0) return *milli;
  amounts.refuse(kQuotaResource,
                 fmt::format("is '{}', which is no number of GPUs", printable(text, 64)));
  return 0;
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
        .hard = amount_of(hard, Rounding::kDown),
        .used = used.has(kQuotaResource) ? amount_of(used, Rounding::kUp) : 0,
    };
  });
}

std::string gpus_text(std::int64_t permille) {
  auto text = fmt::format("{}.{:03}", permille / 1000, permille % 1000);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace tranche::admission::quota
