#include "limit/apportion.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tranche::limit {

void Apportioner::finished(TenantId tenant, Stretch stretch) {
  if (stretch.length() == Ns{0}) return;
  const Ns length = std::min(stretch.length(), kLong);
  if (stretch.begin < closed_) {
    take_unclaimed(tenant, {stretch.begin, std::min(stretch.end, closed_)});
  }
  stretch.begin = std::max(stretch.begin, closed_);
  if (stretch.length() > Ns{0}) told_.push_back({tenant, stretch, length});
}

void Apportioner::busy(TenantId tenant, std::optional<Ns> since) {
  if (since) {
    busy_[tenant] = *since;
  } else {
    busy_.erase(tenant);
  }
}

ByTenant<Ns> Apportioner::close(Ns until) {
  if (until > closed_) {
    auto claims = told_;
    for (const auto& [tenant, since] : busy_) {
      claims.push_back({tenant, {std::max(since, closed_), until}, kLong});
    }
    share(claims, until);
    closed_ = until;
    std::erase_if(told_, [&](const Claim& claim) { return claim.stretch.end <= until; });
    for (Claim& claim : told_) claim.stretch.begin = std::max(claim.stretch.begin, until);
    std::erase_if(unclaimed_, [&](const Stretch& s) { return s.end + kMemory <= until; });
  }
  return std::exchange(charges_, {});
}

// Sweeps over the begins and ends of all claims; between two of them the same ones hold.
void Apportioner::share(const std::vector<Claim>& claims, Ns until) {
  using Holder = std::pair<Ns, TenantId>;  // the shortest first
  struct Edge {
    Ns at;
    bool begins;
    Holder holder;
  };
  std::vector<Edge> edges;
  for (const auto& [tenant, stretch, length] : claims) {
    const Stretch part{std::max(stretch.begin, closed_), std::min(stretch.end, until)};
    if (part.length() == Ns{0}) continue;
    edges.push_back({part.begin, true, {length, tenant}});
    edges.push_back({part.end, false, {length, tenant}});
  }
  std::ranges::sort(edges, {}, &Edge::at);
  // Sorted, and how many claims of that length each has there.
  std::vector<std::pair<Holder, int>> holders;
  const auto place_of = [&](const Holder& holder) {
    return std::ranges::lower_bound(holders, holder, {}, &std::pair<Holder, int>::first);
  };
  Ns at = closed_;
  const auto advance = [&](Ns to) {
    const Ns length = to - at;
    at = to;
    if (length == Ns{0}) return;
    if (holders.empty()) {
      unclaimed_.push_back({to - length, to});
      return;
    }
    const auto first = holders.begin();
    const auto last = place_of({first->first.first + Ns{1}, TenantId{0}});
    const auto part = length / std::distance(first, last);
    for (auto owner = first; owner != last; ++owner) charges_[owner->first.second] += part;
  };
  for (const Edge& edge : edges) {
    advance(edge.at);
    auto entry = place_of(edge.holder);
    if (entry == holders.end() || entry->first != edge.holder) {
      entry = holders.insert(entry, {edge.holder, 0});
    }
    entry->second += edge.begins ? 1 : -1;
    if (entry->second == 0) holders.erase(entry);
  }
  advance(until);
}

void Apportioner::take_unclaimed(TenantId tenant, Stretch stretch) {
  std::vector<Stretch> rest;
  for (const Stretch& free : unclaimed_) {
    const Stretch taken{std::max(free.begin, stretch.begin), std::min(free.end, stretch.end)};
    if (taken.length() == Ns{0}) {
      rest.push_back(free);
      continue;
    }
    charges_[tenant] += taken.length();
    if (free.begin < taken.begin) rest.push_back({free.begin, taken.begin});
    if (taken.end < free.end) rest.push_back({taken.end, free.end});
  }
  unclaimed_ = std::move(rest);
}

}  // namespace tranche::limit
