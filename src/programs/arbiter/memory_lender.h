#pragma once
// Lends a device's idle memory to the tenants that may borrow it (limit/lending.h), by writing each
// one's limit into its policy page. It reacts to a change within a second, and at once to processes
// that come or go.
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
  // `log` must outlive it.
  explicit MemoryLender(const Log& log) : log_(log) {}

  void lend(const Sessions& sessions, const Others& others);
  // Adds what each tenant may hold now, and the devices on which owners miss their lent
  // memory.
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
