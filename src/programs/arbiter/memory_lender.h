#pragma once
// Lends a device's idle memory to the tenants that may borrow it (limit/lending.h), by writing each
// one's limit into its policy page. It follows a change within a second, and processes that come or
// go at once.
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
  // Bytes that processes of no tenant hold on a device.
  using Others = std::function<std::uint64_t(const std::string& device)>;
  // `log` outlives it.
  explicit MemoryLender(const Log& log) : log_(log) {}

  void lend(const Sessions& sessions, const Others& others);
  // Adds what each tenant may hold now, and the devices on which lent memory is missed by its
  // owners.
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
