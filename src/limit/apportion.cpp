#include "limit/apportion.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <utility>

namespace tranche::limit {

namespace {

// Estimates are multiplied or divided by this at most.
constexpr double kMostWrong = 8;

Stretch common(const Stretch& a, const Stretch& b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

}  // namespace

void Apportioner::finished(TenantId tenant, Stretch stretch, Ns asked) {
  if (stretch.length() == Ns{0}) return;
  Claim claim{.tenant = tenant,
              .stretch = stretch,
              .rank = std::min(stretch.length(), kLong),
              .need = std::clamp(corrected(tenant, asked), Ns{0}, stretch.length()),
              .asked = asked,
              .is_whole = stretch.length() < kSlice && follows_own(tenant, stretch.begin)};
  last_end_[tenant] = stretch.end;
  if (stretch.begin < closed_) {
    const Ns taken = take_unclaimed(tenant, {stretch.begin, std::min(stretch.end, closed_)});
    const Ns paid = std::exchange(paid_[tenant], Ns{0});
    claim.need = std::max(claim.need - taken - paid, Ns{0});
    claim.rank = kUnended;  // until now it counted as work without an end
    claim.is_whole = false;
  }
  claim.stretch.begin = std::max(stretch.begin, closed_);
  if (claim.stretch.length() > Ns{0}) told_.push_back(claim);
}

bool Apportioner::follows_own(TenantId tenant, Ns begin) const {
  const auto last = last_end_.find(tenant);
  if (last != last_end_.end() && is_near(last->second, begin)) return true;
  return std::ranges::any_of(told_, [&](const Claim& claim) {
    return claim.tenant == tenant && is_near(claim.stretch.end, begin);
  });
}

Ns Apportioner::corrected(TenantId tenant, Ns asked) const {
  const auto entry = measured_.find(tenant);
  if (entry == measured_.end()) return asked;
  const Measured& seen = entry->second;
  if (seen.length < kMeasured / 4 || seen.asked <= Ns{0}) return asked;
  const double factor =
      static_cast<double>(seen.length.count()) / static_cast<double>(seen.asked.count());
  return Ns{static_cast<std::int64_t>(static_cast<double>(asked.count()) *
                                      std::clamp(factor, 1.0 / kMostWrong, kMostWrong))};
}

void Apportioner::measure(const Claim& claim) {
  if (!claim.is_whole || claim.asked <= Ns{0}) return;
  Measured& seen = measured_[claim.tenant];
  seen.asked += claim.asked;
  seen.length += claim.rank;  // a claim shorter than a slice has its length as its rank
  if (seen.length < kMeasured) return;
  seen.asked /= 2;
  seen.length /= 2;
}

void Apportioner::busy(TenantId tenant, std::optional<Ns> since) {
  if (since) {
    busy_[tenant] = *since;
  } else {
    busy_.erase(tenant);
    paid_.erase(tenant);
  }
}

void Apportioner::forget(TenantId tenant) {
  busy(tenant, std::nullopt);
  last_end_.erase(tenant);
  measured_.erase(tenant);
}

ByTenant<Ns> Apportioner::close(Ns until) {
  if (until > closed_) {
    std::ranges::sort(told_, {}, [](const Claim& claim) { return claim.stretch.end; });
    find_interrupted();
    find_slices();
    share(give_needs(until), until);
    closed_ = until;
    std::erase_if(told_, [&](const Claim& claim) {
      if (claim.stretch.end > until) return false;
      measure(claim);
      last_ = claim;
      return true;
    });
    for (Claim& claim : told_) claim.stretch.begin = std::max(claim.stretch.begin, until);
    std::erase_if(unclaimed_, [&](const Stretch& s) { return s.end + kMemory <= until; });
  }
  return std::exchange(charges_, {});
}

// Another tenant that had the device in between would have ended a pair there, or filled a slice.
void Apportioner::find_interrupted() {
  for (auto claim = told_.begin(); claim != told_.end(); ++claim) {
    for (auto other = claim; claim->is_whole && other != told_.begin();) {
      --other;
      if (other->stretch.end <= claim->stretch.begin + kNear) break;
      claim->is_whole = other->tenant == claim->tenant;
    }
  }
}

void Apportioner::find_slices() {
  const Claim* before = last_ ? &*last_ : nullptr;
  for (Claim& claim : told_) {
    const bool same = before != nullptr && before->tenant == claim.tenant;
    if (claim.slice == Ns{0}) {
      claim.slice = claim.is_whole && same ? before->slice : claim.stretch.end - claim.need;
      if (before != nullptr && !same) claim.slice = std::max(claim.slice, before->stretch.end);
    }
    before = &claim;
  }
}

// A tenant that ended a pair and went on at once has the device until its turn is over or another
// tenant's pair ends. Returns the part of `work` that falls into that time. The end of `work` is
// unknown, or is not the end that it follows. Empty: `work` did not begin at an end of its tenant.
Stretch Apportioner::after_own(TenantId tenant, const Stretch& work) const {
  std::optional<Ns> next;  // end of another tenant's pair
  const auto look = [&](const Claim& end) -> std::optional<Stretch> {
    const Ns at = end.stretch.end;
    if (end.tenant != tenant) next = at;
    if (end.tenant != tenant || !is_near(at, work.begin)) return std::nullopt;
    return common(work, {at, std::min(next.value_or(work.end), end.slice + kSlice)});
  };
  for (const Claim& end : std::views::reverse(told_)) {
    if (end.stretch.end + kNear < work.begin) return {};
    if (const auto found = look(end)) return *found;
  }
  return last_ ? look(*last_).value_or(Stretch{}) : Stretch{};
}

// Charges each claim's need as far as it lies before `until`. A need that lies later stays free and
// is looked at again next time. Returns the time up to `until` that is left.
Apportioner::Free Apportioner::give_needs(Ns until) {
  const Ns end = told_.empty() ? until : std::max(until, told_.back().stretch.end);
  Free free{{closed_, end}};
  for (Claim& claim : told_) {
    if (claim.is_whole) claim.need = claim.stretch.length();
    claim.turn = after_own(claim.tenant, claim.stretch);
    Ns left = claim.need;
    for (const Stretch& window : {claim.turn, claim.stretch}) {
      for (const Stretch& piece : take_latest(window, left, free)) {
        const Ns charged = common(piece, {closed_, until}).length();
        claim.need -= charged;
        if (charged > Ns{0}) charges_[claim.tenant] += charged;
      }
    }
  }
  while (!free.empty() && free.back().begin >= until) free.pop_back();
  if (!free.empty()) free.back().end = std::min(free.back().end, until);
  return free;
}

// Takes the latest free pieces of `window` out of `free`: at most `left` of time, which it lowers
// by what it took.
Apportioner::Free Apportioner::take_latest(const Stretch& window, Ns& left, Free& free) {
  Free pieces;
  auto last = std::ranges::lower_bound(free, window.end, {}, &Stretch::begin);
  while (left > Ns{0} && last != free.begin()) {
    const auto piece = std::prev(last);
    Stretch taken = common(*piece, window);
    if (taken.length() == Ns{0}) break;
    taken.begin = std::max(taken.begin, taken.end - left);
    left -= taken.length();
    pieces.push_back(taken);
    const Stretch before{piece->begin, taken.begin};
    const Stretch after{taken.end, piece->end};
    last = free.erase(piece);
    if (after.length() > Ns{0}) last = free.insert(last, after);
    // The piece before lies outside of the window, or nothing more is needed.
    if (before.length() > Ns{0}) {
      free.insert(last, before);
      break;
    }
  }
  return pieces;
}

// Sweeps over the begins and ends of all claims. Between two of them the set of claims does not
// change.
void Apportioner::share(const Free& free, Ns until) {
  if (free.empty()) return;
  using Holder = std::pair<Ns, TenantId>;  // by rank
  struct Edge {
    Ns at;
    bool begins;
    Holder holder;
  };
  std::vector<Edge> edges;
  const auto add = [&](const Stretch& stretch, const Holder& holder) {
    const Stretch part = common(stretch, {closed_, until});
    if (part.length() == Ns{0}) return;
    edges.push_back({part.begin, true, holder});
    edges.push_back({part.end, false, holder});
  };
  for (const Claim& claim : told_) add(claim.stretch, {claim.rank, claim.tenant});
  for (const Claim& claim : told_) add(claim.turn, {kGoesOn, claim.tenant});
  for (const auto& [tenant, since] : busy_) {
    add({since, until}, {kUnended, tenant});
    add(after_own(tenant, {since, until}), {kGoesOn, tenant});
  }
  std::ranges::sort(edges, {}, &Edge::at);
  // The holders at the current point, sorted, each with its number of claims of that rank.
  std::vector<std::pair<Holder, int>> holders;
  const auto place_of = [&](const Holder& holder) {
    return std::ranges::lower_bound(holders, holder, {}, &std::pair<Holder, int>::first);
  };
  const auto give = [&](const Stretch& piece) {
    if (piece.length() == Ns{0}) return;
    if (holders.empty()) {
      unclaimed_.push_back(piece);
      return;
    }
    const Ns rank = holders.front().first.first;
    const auto last = place_of({rank + Ns{1}, TenantId{0}});
    const Ns part = piece.length() / std::distance(holders.begin(), last);
    for (auto owner = holders.begin(); owner != last; ++owner) {
      const TenantId tenant = owner->first.second;
      charges_[tenant] += part;
      if (rank <= kUnended && busy_.contains(tenant)) paid_[tenant] += part;
    }
  };
  Ns at = closed_;
  auto next = free.begin();
  const auto advance = [&](Ns to) {
    for (; next != free.end() && next->begin < to; ++next) {
      give(common(*next, {at, to}));
      if (next->end > to) break;
    }
    at = to;
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

// Returns the unclaimed time that it found in `stretch`.
Ns Apportioner::take_unclaimed(TenantId tenant, Stretch stretch) {
  Ns sum{0};
  Free rest;
  for (const Stretch& free : unclaimed_) {
    const Stretch taken = common(free, stretch);
    if (taken.length() == Ns{0}) {
      rest.push_back(free);
      continue;
    }
    sum += taken.length();
    if (free.begin < taken.begin) rest.push_back({free.begin, taken.begin});
    if (taken.end < free.end) rest.push_back({taken.end, free.end});
  }
  if (sum > Ns{0}) charges_[tenant] += sum;
  unclaimed_ = std::move(rest);
  return sum;
}

}  // namespace tranche::limit
