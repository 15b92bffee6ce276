#pragma once
// A map by tenant whose entries are contiguous and sorted. The policy walks over all of them every
// millisecond, and a map of separate nodes would cost more than the work on each entry. It
// implements the part of std::map's interface that is used. References are valid until an entry is
// added or removed.

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <utility>
#include <vector>

#include "limit/time.h"

namespace tranche::limit {

template <class T>
class ByTenant {
 public:
  using value_type = std::pair<TenantId, T>;
  using iterator = typename std::vector<value_type>::iterator;
  using const_iterator = typename std::vector<value_type>::const_iterator;

  ByTenant() = default;
  ByTenant(std::initializer_list<value_type> entries) {
    for (const auto& [tenant, value] : entries) try_emplace(tenant, value);
  }

  iterator begin() { return entries_.begin(); }
  iterator end() { return entries_.end(); }
  const_iterator begin() const { return entries_.begin(); }
  const_iterator end() const { return entries_.end(); }
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  void clear() { entries_.clear(); }

  iterator find(TenantId tenant) {
    const auto entry = place_of(tenant);
    return entry != end() && entry->first == tenant ? entry : end();
  }
  const_iterator find(TenantId tenant) const { return const_cast<ByTenant*>(this)->find(tenant); }
  bool contains(TenantId tenant) const { return find(tenant) != end(); }
  T& at(TenantId tenant) {
    const auto entry = find(tenant);
    if (entry == end()) throw std::out_of_range("no such tenant");
    return entry->second;
  }
  const T& at(TenantId tenant) const { return const_cast<ByTenant*>(this)->at(tenant); }

  // Leaves an existing entry unchanged.
  template <class... Arguments>
  std::pair<iterator, bool> try_emplace(TenantId tenant, Arguments&&... arguments) {
    // Callers mostly add entries in ascending order, so the end is tried first.
    const auto place =
        entries_.empty() || entries_.back().first < tenant ? end() : place_of(tenant);
    if (place != end() && place->first == tenant) return {place, false};
    return {entries_.emplace(place, tenant, T(std::forward<Arguments>(arguments)...)), true};
  }
  T& operator[](TenantId tenant) { return try_emplace(tenant).first->second; }
  void erase(TenantId tenant) {
    if (const auto entry = find(tenant); entry != end()) entries_.erase(entry);
  }

  bool operator==(const ByTenant&) const = default;

 private:
  // The first entry that is not before `tenant`. Tenants are numbered consecutively, so it is
  // usually as far behind the first one as its number says. Otherwise a branchless binary search:
  // the direction is unpredictable.
  iterator place_of(TenantId tenant) {
    if (entries_.empty()) return end();
    const std::size_t guess = tenant.value - entries_.front().first.value;
    if (guess < entries_.size() && entries_[guess].first == tenant) {
      return begin() + static_cast<std::ptrdiff_t>(guess);
    }
    value_type* place = entries_.data();
    for (std::size_t left = entries_.size(); left != 0;) {
      const std::size_t half = (left + 1) / 2;
      place += place[half - 1].first < tenant ? half : 0;
      left -= half;
    }
    return begin() + (place - entries_.data());
  }

  std::vector<value_type> entries_;
};

}  // namespace tranche::limit
