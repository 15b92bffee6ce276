#pragma once
// Who may hold how much of a device's memory while some of it is idle. What a tenant was promised
// is its own as soon as it has a process; the rest of the device is lent, in equal parts, to those
// that may borrow, each up to its hard limit. Nothing is taken back: who gets no more keeps what it
// has until it frees it, and meanwhile a tenant that comes finds less than it was promised.
//
// Pure.

#include <cstdint>
#include <span>
#include <vector>

namespace tranche::limit {

// A tenant on a device, as it stands. Bytes.
struct MemoryStanding {
  std::uint64_t promised = 0;  // kNoLimit: nothing was, and nothing holds it
  std::uint64_t hard = 0;      // at least `promised`; more: it may borrow
  std::uint64_t held = 0;      // charged and outside
  bool present = false;        // it has processes
};

struct Loans {
  // What each may hold now, in the order of the standings; never less than promised. What all may
  // hold who are present is never more than the device has, but for what was promised or is held.
  std::vector<std::uint64_t> limits;
  // So much of what those who are present were promised is held by borrowers. They get nothing more
  // until it is back.
  std::uint64_t missing = 0;
};

// The part of a device that is never lent: what the driver itself needs varies.
inline constexpr std::uint64_t kNeverLent = 64;  // one 64th

// `others`: what processes of no tenant hold.
Loans lend(std::uint64_t device_bytes, std::uint64_t others,
           std::span<const MemoryStanding> standings);

}  // namespace tranche::limit
