#include "offer/preferred.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "offer/aligned.h"
#include "offer/spread.h"

namespace tranche::offer {
namespace {

// A request in numbers: indices into offer.tranches, rising, each once.
struct Numbers {
  std::vector<std::size_t> available;
  std::vector<std::size_t> required;
  std::size_t unknown_available = 0;
  std::optional<std::string> unknown_required;  // the first of them
};

Numbers in_numbers(const ResourceOffer& offer, const PreferredRequest& request) {
  std::unordered_map<std::string_view, std::size_t> by_id;
  by_id.reserve(offer.tranches.size());
  for (std::size_t i = 0; i < offer.tranches.size(); ++i) by_id.emplace(offer.tranches[i].id, i);

  Numbers out;
  std::set<std::size_t> available;
  for (const std::string& id : request.available) {
    const auto found = by_id.find(id);
    if (found == by_id.end()) {
      ++out.unknown_available;
    } else {
      available.insert(found->second);
    }
  }
  std::set<std::size_t> required;
  for (const std::string& id : request.must_include) {
    const auto found = by_id.find(id);
    if (found != by_id.end()) {
      required.insert(found->second);
    } else if (!out.unknown_required) {
      out.unknown_required = id;
    }
  }
  out.available.assign(available.begin(), available.end());
  out.required.assign(required.begin(), required.end());
  return out;
}

bool wants_alignment(const ResourceOffer& offer, const PreferredRequest& request) {
  return std::ranges::none_of(offer.devices, &Device::mig) &&
         std::ranges::none_of(request.available, is_replica_id) &&
         std::ranges::none_of(request.must_include, is_replica_id);
}

Scores scores_between(const ResourceOffer& offer, const std::vector<std::size_t>& tranches,
                      const Links* links) {
  Scores scores(tranches.size());
  if (links == nullptr) return scores;
  std::vector<std::optional<std::size_t>> rows;
  for (const std::size_t tranche : tranches) {
    const std::string& uuid = offer.devices[offer.tranches[tranche].device].gpu_uuid;
    const auto found = std::ranges::find(links->gpu_uuids, uuid);
    const auto row = static_cast<std::size_t>(found - links->gpu_uuids.begin());
    rows.push_back(row < links->topology.size() ? std::optional(row) : std::nullopt);
  }
  for (std::size_t a = 0; a < rows.size(); ++a) {
    for (std::size_t b = a + 1; b < rows.size(); ++b) {
      if (rows[a] && rows[b]) scores.set(a, b, link_score(links->topology.at(*rows[a], *rows[b])));
    }
  }
  return scores;
}

Preferred none(std::string why) { return {{}, "aligned: no choice: " + std::move(why)}; }

Preferred aligned(const ResourceOffer& offer, const Links* links, const Numbers& numbers,
                  int size) {
  if (numbers.unknown_required) return none("unknown device " + *numbers.unknown_required);
  std::vector<std::size_t> required;  // positions in numbers.available
  for (const std::size_t tranche : numbers.required) {
    const auto found = std::ranges::lower_bound(numbers.available, tranche);
    if (found == numbers.available.end() || *found != tranche) {
      return none(fmt::format("{} must be included and is not free", offer.tranches[tranche].id));
    }
    required.push_back(static_cast<std::size_t>(found - numbers.available.begin()));
  }
  const auto best = best_aligned(scores_between(offer, numbers.available, links), required,
                                 static_cast<std::size_t>(std::max(size, 0)));
  if (!best) {
    return none(fmt::format("{} wanted, {} of them fixed, {} free", size, required.size(),
                            numbers.available.size()));
  }
  Preferred out;
  std::vector<std::string_view> indices;
  for (const std::size_t position : best->gpus) {
    const Tranche& tranche = offer.tranches[numbers.available[position]];
    out.ids.push_back(tranche.id);
    indices.push_back(offer.devices[tranche.device].index);
  }
  out.reason = fmt::format("aligned: GPU {}: score {}, {}", fmt::join(indices, ", "), best->score,
                           best->rule);
  if (links == nullptr) out.reason += "; links between GPUs are not known";
  return out;
}

Result<Preferred> by_fill(const ResourceOffer& offer, config::AllocationPolicy policy,
                          const Numbers& numbers, int size) {
  if (numbers.unknown_required) {
    return fail(Code::kInvalidArgument,
                fmt::format("unknown device: {}", *numbers.unknown_required));
  }
  const auto wanted = static_cast<std::size_t>(std::max(size, 0));
  if (wanted < numbers.required.size()) {
    return fail(Code::kInvalidArgument, fmt::format("an allocation of {} cannot include {} devices",
                                                    size, numbers.required.size()));
  }
  std::vector<std::size_t> candidates;
  std::ranges::set_difference(numbers.available, numbers.required, std::back_inserter(candidates));
  const std::size_t needed = wanted - numbers.required.size();
  if (candidates.size() < needed) {
    return fail(Code::kFailedPrecondition, "not enough available devices to satisfy allocation");
  }
  Spread picks = spread(offer, policy, candidates, needed);
  Preferred out;
  for (const std::size_t tranche : numbers.required) out.ids.push_back(offer.tranches[tranche].id);
  for (const std::size_t tranche : picks.tranches) out.ids.push_back(offer.tranches[tranche].id);
  out.reason = std::move(picks.reason);
  if (!numbers.required.empty()) {
    out.reason += fmt::format("; {} fixed by the request", numbers.required.size());
  }
  return out;
}

}  // namespace

Result<Preferred> preferred_allocation(const ResourceOffer& offer, const Links* links,
                                       config::AllocationPolicy policy,
                                       const PreferredRequest& request) {
  const Numbers numbers = in_numbers(offer, request);
  Result<Preferred> out = wants_alignment(offer, request)
                              ? aligned(offer, links, numbers, request.size)
                              : by_fill(offer, policy, numbers, request.size);
  if (out && numbers.unknown_available > 0) {
    out->reason += fmt::format("; ignored {} unknown ids", numbers.unknown_available);
  }
  return out;
}

}  // namespace tranche::offer
