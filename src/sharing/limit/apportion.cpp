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
    // It took turns with others, so its estimate is too long, and it ended within a slice of its
    // own.
    if (paid > kSlice) claim.need = std::min(claim.need, kSlice);
    claim.rank = kUnended;  // until now it counted as work without an end
    claim.is_whole = false;
  }
  claim.stretch.begin = std::max(stretch.begin, closed_);
  if (claim.stretch.length() == Ns{0}) return;
  told_.push_back(claim);
  ends_[tenant].push_back(claim.stretch.end);
}

bool Apportioner::follows_own(TenantId tenant, Ns begin) const {
  const auto last = last_end_.find(tenant);
  if (last != last_end_.end() && is_near(last->second, begin)) return true;
  const auto ends = ends_.find(tenant);
  if (ends == ends_.end()) return false;
  work_ += ends->second.size();
  return std::ranges::any_of(ends->second, [&](Ns end) { return is_near(end, begin); });
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
  seen.length += claim.rank;  // a stretch under a slice has its length as its rank
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

Ns Apportioner::paid(TenantId tenant) const {
  const auto entry = paid_.find(tenant);
  return entry == paid_.end() ? Ns{0} : entry->second;
}

void Apportioner::forget(TenantId tenant) {
  busy(tenant, std::nullopt);
  last_end_.erase(tenant);
  measured_.erase(tenant);
  ends_.erase(tenant);
  places_.erase(tenant);
}

const ByTenant<Ns>& Apportioner::close(Ns until) {
  if (until > closed_) {
    std::ranges::sort(told_, {}, [](const Claim& claim) { return claim.stretch.end; });
    join_claims();
    put_in_order();
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
    for (auto& [tenant, ends] : ends_) ends.clear();
    for (Claim& claim : told_) {
      claim.stretch.begin = std::max(claim.stretch.begin, until);
      if (const auto own = ends_.find(claim.tenant); own != ends_.end()) {
        own->second.push_back(claim.stretch.end);
      }
    }
    while (!unclaimed_.empty() && unclaimed_.begin()->second + kMemory <= until) {
      unclaimed_.erase(unclaimed_.begin());
    }
  }
  std::swap(charges_, told_charges_);
  charges_.clear();
  return told_charges_;
}

// For a tenant with too many stretches: joins as many neighbours as needed; each joined stretch
// ends with the last one and needs what they need together.
void Apportioner::join_claims() {
  work_ += told_.size();
  if (told_.size() <= kMostClaims) return;
  ByTenant<std::size_t> counts;
  for (const Claim& claim : told_) ++counts[claim.tenant];
  if (std::ranges::all_of(counts, [](const auto& c) { return c.second <= kMostClaims; })) return;
  struct Group {
    std::size_t place = 0;  // of its last stretch, among those kept
    std::size_t room = 0;   // for so many more
  };
  ByTenant<Group> groups;
  std::vector<Claim> kept;
  for (const Claim& claim : std::views::reverse(told_)) {
    Group& group = groups[claim.tenant];
    if (group.room == 0) {
      group = {kept.size(), (counts.at(claim.tenant) + kMostClaims - 1) / kMostClaims - 1};
      kept.push_back(claim);
      continue;
    }
    --group.room;
    Claim& last = kept[group.place];
    last.stretch.begin = std::min(last.stretch.begin, claim.stretch.begin);
    last.need = std::min(last.need + claim.need, last.stretch.length());
    last.asked += claim.asked;
    last.rank = std::min({last.rank, claim.rank, kLong});
    last.is_whole = false;
  }
  std::ranges::reverse(kept);
  told_ = std::move(kept);
}

void Apportioner::put_in_order() {
  work_ += 2 * told_.size();
  for (auto& [tenant, places] : places_) places.clear();
  for (std::size_t i = 0; i < told_.size(); ++i) places_[told_[i].tenant].push_back(i);
  next_other_.assign(told_.size(), std::nullopt);
  for (std::size_t i = told_.size(); i-- > 1;) {
    next_other_[i - 1] = told_[i].tenant == told_[i - 1].tenant
                             ? next_other_[i]
                             : std::optional(told_[i].stretch.end);
  }
}

// Another tenant that had the device in between would have ended a pair there, or filled a slice.
void Apportioner::find_interrupted() {
  work_ += told_.size();
  const Claim* before = nullptr;
  std::optional<Ns> other;  // the last end of a tenant that is not that of `before`
  for (Claim& claim : told_) {
    if (before != nullptr && before->tenant != claim.tenant) other = before->stretch.end;
    if (other && *other > claim.stretch.begin + kNear) claim.is_whole = false;
    before = &claim;
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

// A tenant that ended a pair and continued at once has the device until its turn is over or another
// tenant's pair ends. Returns the part of `work` that falls into that time. The end of `work` is
// unknown, or is not the end that it follows. Empty: `work` did not begin at an end of its tenant.
Stretch Apportioner::after_own(TenantId tenant, const Stretch& work) const {
  const auto follows = [&](const Claim& end, std::optional<Ns> next) -> Stretch {
    return common(work, {end.stretch.end, std::min(next.value_or(work.end), end.slice + kSlice)});
  };
  const auto places = places_.find(tenant);
  if (places != places_.end()) {
    // The last of its stretches that ends before or near the begin.
    const auto end_of = [&](std::size_t place) { return told_[place].stretch.end; };
    const auto later = std::ranges::upper_bound(places->second, work.begin + kNear, {}, end_of);
    ++work_;
    if (later != places->second.begin()) {
      const std::size_t place = *std::prev(later);
      if (is_near(end_of(place), work.begin)) return follows(told_[place], next_other_[place]);
      return {};
    }
  }
  if (!last_ || last_->tenant != tenant || !is_near(last_->stretch.end, work.begin)) return {};
  // The first end of another tenant.
  std::optional<Ns> next;
  if (!told_.empty()) {
    next = told_.front().tenant == tenant ? next_other_.front()
                                          : std::optional(told_.front().stretch.end);
  }
  return follows(*last_, next);
}

// Takes the latest free pieces of `window` out of `free`: at most `left` of time, which it lowers
// by what it took. Calls `then` with each piece.
void Apportioner::take_latest(const Stretch& window, Ns& left, Free& free, auto&& then) {
  ++work_;
  auto last = std::ranges::lower_bound(free, window.end, {}, &Stretch::begin);
  while (left > Ns{0} && last != free.begin()) {
    ++work_;
    const auto piece = std::prev(last);
    Stretch taken = common(*piece, window);
    if (taken.length() == Ns{0}) break;
    taken.begin = std::max(taken.begin, taken.end - left);
    left -= taken.length();
    then(taken);
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
}

// Charges each stretch's need as far as it is before `until`. A later need stays free and is
// examined again next time. Returns the remaining time up to `until`.
Apportioner::Free Apportioner::give_needs(Ns until) {
  const Ns end = told_.empty() ? until : std::max(until, told_.back().stretch.end);
  Free free{{closed_, end}};
  for (Claim& claim : told_) {
    if (claim.is_whole) claim.need = claim.stretch.length();
    claim.turn = after_own(claim.tenant, claim.stretch);
    Ns left = claim.need;
    for (const Stretch& window : {claim.turn, claim.stretch}) {
      take_latest(window, left, free, [&](const Stretch& piece) {
        const Ns charged = common(piece, {closed_, until}).length();
        claim.need -= charged;
        if (charged > Ns{0}) charges_[claim.tenant] += charged;
      });
    }
  }
  while (!free.empty() && free.back().begin >= until) free.pop_back();
  if (!free.empty()) free.back().end = std::min(free.back().end, until);
  return free;
}

// Sweeps over the begins and ends of all stretches. Between two of them the set of stretches does
// not change.
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
  work_ += edges.size();
  // The holders at the current point, sorted, each with its number of stretches of that rank.
  std::vector<std::pair<Holder, int>> holders;
  const auto place_of = [&](const Holder& holder) {
    return std::ranges::lower_bound(holders, holder, {}, &std::pair<Holder, int>::first);
  };
  const auto give = [&](const Stretch& piece) {
    if (piece.length() == Ns{0}) return;
    if (holders.empty()) {
      unclaimed_.emplace(piece.begin, piece.end);
      return;
    }
    const Ns rank = holders.front().first.first;
    const auto last = place_of({rank + Ns{1}, TenantId{0}});
    const Ns part = piece.length() / std::distance(holders.begin(), last);
    work_ += static_cast<std::uint64_t>(std::distance(holders.begin(), last));
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

// Returns the unassigned time that it found in `stretch`.
Ns Apportioner::take_unclaimed(TenantId tenant, Stretch stretch) {
  Ns sum{0};
  auto next = unclaimed_.upper_bound(stretch.begin);
  if (next != unclaimed_.begin()) --next;
  while (next != unclaimed_.end() && next->first < stretch.end) {
    ++work_;
    const Stretch free{next->first, next->second};
    const Stretch taken = common(free, stretch);
    if (taken.length() == Ns{0}) {
      ++next;
      continue;
    }
    sum += taken.length();
    next = unclaimed_.erase(next);
    if (free.begin < taken.begin) unclaimed_.emplace(free.begin, taken.begin);
    if (taken.end < free.end) next = unclaimed_.emplace(taken.end, free.end).first;
  }
  if (sum > Ns{0}) charges_[tenant] += sum;
  return sum;
}

}  // namespace tranche::limit
