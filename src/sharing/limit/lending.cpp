#include "limit/lending.h"

#include <algorithm>
#include <cstddef>

#include "limit/wire.h"

namespace tranche::limit {
namespace {

std::uint64_t left_of(std::uint64_t room, std::uint64_t taken) {
  return room - std::min(room, taken);
}

bool is_promised(const MemoryStanding& standing) { return standing.promised != wire::kNoLimit; }

std::uint64_t reserved(const MemoryStanding& standing) {
  if (!standing.present || !is_promised(standing)) return standing.held;
  return std::max(standing.promised, standing.held);
}

// Shares `room` in equal parts. The part that one borrower cannot use goes to the others.
void share_out(std::uint64_t room, std::vector<std::uint64_t>& limits,
               std::span<const MemoryStanding> standings, std::vector<std::size_t> borrowers) {
  std::ranges::sort(borrowers, {}, [&](std::size_t i) { return standings[i].hard - limits[i]; });
  for (std::size_t done = 0; done < borrowers.size(); ++done) {
    const std::size_t i = borrowers[done];
    const std::uint64_t part =
        std::min(room / (borrowers.size() - done), standings[i].hard - limits[i]);
    limits[i] += part;
    room -= part;
  }
}

}  // namespace

Loans lend(std::uint64_t device_bytes, std::uint64_t others,
           std::span<const MemoryStanding> standings) {
  Loans loans;
  std::uint64_t taken = others;
  std::uint64_t borrowed = 0;
  for (const MemoryStanding& standing : standings) {
    loans.limits.push_back(standing.promised);
    taken = wire::add(taken, reserved(standing));
    if (is_promised(standing)) {
      borrowed = wire::add(borrowed, left_of(standing.held, standing.promised));
    }
  }
  const std::uint64_t usable = device_bytes - device_bytes / kNeverLent;
  loans.missing = std::min(borrowed, left_of(taken, usable));
  if (loans.missing > 0) return loans;
  std::vector<std::size_t> borrowers;
  for (std::size_t i = 0; i < standings.size(); ++i) {
    const MemoryStanding& standing = standings[i];
    if (!standing.present || !is_promised(standing) || standing.hard <= reserved(standing)) {
      continue;
    }
    loans.limits[i] = reserved(standing);
    borrowers.push_back(i);
  }
  share_out(left_of(usable, taken), loans.limits, standings, std::move(borrowers));
  return loans;
}

}  // namespace tranche::limit
