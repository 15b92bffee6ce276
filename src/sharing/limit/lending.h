#pragma once
// Decides how much device memory each tenant may hold while some of it is idle. A tenant with a
// process has all that it was promised. The rest of the device is lent in equal parts to the
// tenants that may borrow, each up to its hard limit. Nothing is revoked. A tenant that may hold no
// more keeps its memory until it frees it. Until then a starting tenant finds less than it was
// promised.
//
// Pure.

#include <cstdint>
#include <span>
#include <vector>

namespace tranche::limit {

// The present state of a tenant on a device. Bytes.
struct MemoryStanding {
  std::uint64_t promised = 0;  // kNoLimit: nothing was promised, and it has no limit
  std::uint64_t hard = 0;      // at least `promised`; more: it may borrow
  std::uint64_t held = 0;      // charged memory and untracked memory
  bool present = false;        // it has processes
};

struct Loans {
  // The most that each tenant may hold now, in the order of the standings; never less than
  // promised. Summed over all present tenants it exceeds the device only by promises or by memory
  // already held.
  std::vector<std::uint64_t> limits;
  // Bytes promised to present tenants that borrowers still hold. Borrowers receive no more until
  // these bytes are back.
  std::uint64_t missing = 0;
};

// The part of a device that is never lent, because the driver's own usage varies.
inline constexpr std::uint64_t kNeverLent = 64;  // 1/64

// `others`: bytes held by processes that belong to no tenant.
Loans lend(std::uint64_t device_bytes, std::uint64_t others,
           std::span<const MemoryStanding> standings);

}  // namespace tranche::limit
