#include "mig/outcome.h"

#include "base/envelope.h"
#include "base/json_fields.h"
#include "cluster/formats/mig_change.h"
#include "mig/journal.h"

namespace tranche::mig {
namespace {

constexpr EnvelopeKind kApplied{.version = "mig-applied/v1", .key = "outcome"};

}  // namespace

std::optional<Outcome> outcome_on(const cluster::Node& node) {
  const auto& text = cluster::value_of(node.annotations, cluster::kMigAppliedAnnotation);
  if (text.empty() || text.size() > kLongestJournal) return std::nullopt;
  const auto content = unseal(kApplied, text);
  if (!content) return std::nullopt;
  auto outcome = json::read_fields(*content, [](const json::Fields& fields) {
    return Outcome{.label = fields.need<std::string>("label"),
                   .trouble = fields.need<std::string>("trouble")};
  });
  return outcome ? std::optional(*std::move(outcome)) : std::nullopt;
}

}  // namespace tranche::mig
