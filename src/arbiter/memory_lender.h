#pragma once
// Gives tenants that may borrow what is idle of a device's memory (limit/lending.h): writes each
// one's limit into its policy page, a second after anything changed at the latest, and at once when
// processes come or go.
//
// Used by the arbiter's one thread.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "arbiter/tenant_session.h"
#include "base/log.h"
#include "limit/arbiter_status.h"

namespace tranche::arbiter {

class MemoryLender {
 public:
  // Bytes on a device of processes that belong to no tenant.
  using Others = std::function<std::uint64_t(const std::string& device)>;
  // `log` outlives it.
  explicit MemoryLender(const Log& log) : log_(log) {}

  void lend(const Sessions& sessions, const Others& others);
  // What the tenants may hold now, and who misses what was lent.
  void describe(limit::ArbiterStatus& status) const;

 private:
  struct Place {
    TenantSession* session;
    unsigned index;
  };
  void lend_device(const std::string& device, std::uint64_t others,
                   const std::vector<Place>& places);
  void note_missing(const std::string& device, std::uint64_t missing);

  const Log& log_;
  std::map<std::string, std::uint64_t> missing_;                           // by device, > 0
  std::map<std::pair<std::string, std::string>, std::uint64_t> may_hold_;  // tenant, device
};

}  // namespace tranche::arbiter
