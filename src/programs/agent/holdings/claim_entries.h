#pragma once
// The claims in the book (book.h): the devices that they hold, and whether new ones are taken. Used
// under the book's lock.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/holdings/grant_entries.h"
#include "base/result.h"
#include "cluster/object.h"
#include "dra/prepared.h"
#include "gpu/machine.h"
#include "holdings/holding.h"
#include "holdings/silicon.h"

namespace tranche::agent {

// What a claim's device occupies. A device with a place: the GPU and the instance there if its UUID
// is known, else all instances of the GPU.
std::set<std::string> silicon_of(const dra::PreparedDevice& device,
                                 const holdings::Silicon& silicon);

struct ClaimRecord {
  dra::PreparedClaim claim;
  // Why its containers lack something; empty: they do not.
  std::string trouble = {};
};

// Functions as in Book.
class ClaimEntries {
 public:
  void open(bool open) { open_ = open; }
  // kUnavailable: none is taken.
  Result<void> check_open() const;

  std::uint64_t enter(const std::string& uid);
  bool stands(const std::string& uid, std::uint64_t call) const;
  void leave(const std::string& uid, std::uint64_t call);

  void begin(const dra::PreparedClaim& claim, const gpu::Machine& machine);
  void stored(const dra::PreparedClaim& claim, const gpu::Machine& machine);
  void failed(const std::string& uid, std::string trouble);
  void end(const std::string& uid);
  void withdraw(const std::string& uid, std::uint64_t call);
  void restore(const std::map<std::string, dra::PreparedClaim>& claims, const gpu::Machine& machine,
               std::set<std::string> unreadable);
  bool restored() const { return restored_; }
  const std::set<std::string>& unreadable() const { return unreadable_; }
  std::uint64_t version() const { return version_; }

  // What they hold, except devices with admin access, which are for monitoring. `grants` knows the
  // machine.
  std::vector<holdings::Holding> all(const GrantEntries& grants) const;
  std::vector<dra::PreparedClaim> claims() const;
  std::vector<ClaimRecord> records() const;
  std::optional<std::string> claim_on(std::string_view uuid) const;
  std::optional<std::vector<cluster::ObjectKey>> claims_of(
      const std::set<std::string>& uuids) const;

 private:
  struct Entry {
    dra::PreparedClaim claim;
    std::set<std::string> uuids;
    bool stored = false;
    std::string trouble = {};  // of a stored one
  };
  enum class OnDisk { kNo, kYes };
  void put(const dra::PreparedClaim& claim, const holdings::Silicon& silicon, OnDisk on_disk);

  bool open_ = false;
  bool restored_ = false;
  std::set<std::string> unreadable_;  // uids
  std::uint64_t version_ = 0;
  std::map<std::string, Entry> entries_;  // by the claim's uid
  std::set<std::pair<std::string, std::uint64_t>> calls_;
  std::uint64_t last_call_ = 0;
};

}  // namespace tranche::agent
