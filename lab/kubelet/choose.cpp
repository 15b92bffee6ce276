#include "lab/kubelet/choose.h"

#include <fmt/format.h>

#include <algorithm>

namespace tranche::lab {

Result<Candidates> find_candidates(const ChoiceInput& input) {
  if (input.healthy.empty())
    return fail(Code::kFailedPrecondition,
                fmt::format("no healthy devices present; cannot allocate unhealthy devices {}",
                            input.resource));
  Candidates out{.missing = input.count};
  for (const std::string& id : input.reusable) {
    if (out.missing == 0) break;
    out.taken.insert(id);
    --out.missing;
  }
  std::ranges::set_difference(input.healthy, input.held,
                              std::inserter(out.available, out.available.end()));
  if (static_cast<int>(out.available.size()) < out.missing)
    return fail(Code::kUnavailable,
                fmt::format("requested number of devices unavailable for {}. Requested: {}, "
                            "Available: {}",
                            input.resource, out.missing, out.available.size()));
  return out;
}

Ids choose(const Candidates& candidates, const Ids& preferred) {
  IdSet chosen = candidates.taken;
  const auto wanted = candidates.taken.size() + static_cast<std::size_t>(candidates.missing);
  for (const std::string& id : preferred)
    if (chosen.size() < wanted && candidates.available.contains(id)) chosen.insert(id);
  for (const std::string& id : candidates.available)
    if (chosen.size() < wanted) chosen.insert(id);
  return {chosen.begin(), chosen.end()};
}

}  // namespace tranche::lab
