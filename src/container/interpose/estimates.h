#pragma once
// The measured cost of one launch of each function: GPU time in nanoseconds, by the handle of the
// function or the executable graph.
//
// A pair of events around a launch includes other processes' GPU time meanwhile, so the small
// measurements are the true ones: an estimate falls at once and rises slowly. A function that was
// never measured counts as kUnknown and is measured alone, because that exceeds any batch.
//
// Handles that share a place evict each other: at most a measurement is lost.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tranche::interpose {

class Estimates {
 public:
  static constexpr std::uint32_t kUnknown = 1'000'000;

  constexpr Estimates() = default;

  std::uint32_t of(const void* what) const {
    const Entry& entry = entries_[place(what)];
    return entry.what.load(std::memory_order_relaxed) == what
               ? entry.ns.load(std::memory_order_relaxed)
               : kUnknown;
  }

  // One launch, or the mean of several, took `ns`.
  void learn(const void* what, std::uint64_t ns) {
    Entry& entry = entries_[place(what)];
    const std::uint32_t seen = ns < kLongest ? static_cast<std::uint32_t>(ns) : kLongest;
    if (entry.what.load(std::memory_order_relaxed) != what) {
      entry.ns.store(kUnknown, std::memory_order_relaxed);
      entry.what.store(what, std::memory_order_relaxed);
      entry.ns.store(seen, std::memory_order_relaxed);
      return;
    }
    const std::uint32_t before = entry.ns.load(std::memory_order_relaxed);
    const std::uint32_t after =
        seen < before ? before - (before - seen + 1) / 2 : before + (seen - before) / 16;
    entry.ns.store(after, std::memory_order_relaxed);
  }

  // One launch took `ns` out of a time shared by several: an estimated mean.
  void approach(const void* what, std::uint64_t ns) {
    const Entry& entry = entries_[place(what)];
    const std::uint32_t least = ns < kLeast     ? kLeast
                                : ns < kLongest ? static_cast<std::uint32_t>(ns)
                                                : kLongest;
    const std::uint32_t before = entry.ns.load(std::memory_order_relaxed);
    if (entry.what.load(std::memory_order_relaxed) != what || least > before) {
      learn(what, least);
    } else {
      entries_[place(what)].ns.store(before - (before - least + 7) / 8, std::memory_order_relaxed);
    }
  }

  // It took at most `ns`.
  void bound(const void* what, std::uint64_t ns) {
    if (ns < of(what)) learn(what, ns);
  }

 private:
  static constexpr std::size_t kEntries = 4096;
  static constexpr std::uint32_t kLongest = 4'000'000'000;
  static constexpr std::uint32_t kLeast = 1000;  // of a mean: no launch is free
  // launch_amd64.S reads this layout.
  struct Entry {
    std::atomic<const void*> what{nullptr};
    std::atomic<std::uint32_t> ns{0};
  };
  static_assert(sizeof(Entry) == 16 && offsetof(Entry, what) == 0 && offsetof(Entry, ns) == 8);
  static std::size_t place(const void* what) {
    return (reinterpret_cast<std::uintptr_t>(what) >> 4U) * 0x9E3779B97F4A7C15ULL >> 52U;
  }
  Entry entries_[kEntries];
};

}  // namespace tranche::interpose
