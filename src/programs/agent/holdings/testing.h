#pragma once
// Shared by tests of the book of holdings: a whole GPU, by either wire.

#include <string>

#include "agent/holdings/book.h"
#include "dra/prepared.h"
#include "gpu/machine.h"
#include "offer/make_offer.h"

namespace tranche::agent::book_testing {

inline constexpr const char* kUid = "11111111-1111-4111-8111-111111111111";

inline offer::Grant grant(const std::string& id) {
  return {.resource = {"nvidia.com/gpu"}, .ids = {id}, .envs = {}};
}

inline dra::PreparedClaim claim(const std::string& uuid) {
  dra::PreparedClaim claim{.ns = "team", .name = "half", .uid = kUid, .boot = "b"};
  claim.devices = {{.request = "gpu", .pool = "p", .device = "gpu-0", .uuid = uuid}};
  return claim;
}

inline void open(Book& book, const gpu::Machine& machine) {
  book.follow(offer::make_offer(machine, {}, {}), machine, true);
  book.open(true);
}

}  // namespace tranche::agent::book_testing
