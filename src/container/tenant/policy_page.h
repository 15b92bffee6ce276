#pragma once
// The page with a tenant's permissions (limit/wire.h): a memfd that only this object can write.
//
// F_SEAL_FUTURE_WRITE (Linux 5.1) is set after it is mapped here. So a process that gets the
// descriptor can only map it read-only, even root in the container.

#include <span>

#include "base/result.h"
#include "limit/wire.h"
#include "tenant/sealed_memory.h"

namespace tranche::tenant {

class PolicyPage {
 public:
  // Fills in everything that the policy does not decide: magic, version, size and the devices'
  // UUIDs. No device has a limit yet. kInvalidArgument: more than kMaxDevices; kUnsupported: this
  // kernel cannot seal it; kIo.
  using Uuid = unsigned char[16];
  static Result<PolicyPage> create(std::span<const Uuid> devices);

  limit::wire::PolicyPage& get() { return *page_; }
  const limit::wire::PolicyPage& get() const { return *page_; }
  int fd() const { return memory_.fd(); }

 private:
  PolicyPage(SealedMemory memory, limit::wire::PolicyPage* page)
      : memory_(std::move(memory)), page_(page) {}

  SealedMemory memory_;
  limit::wire::PolicyPage* page_;
};

}  // namespace tranche::tenant
