#pragma once
// The page that says what a tenant may do (limit/wire.h): a memfd that only this object can write.
//
// The memfd is sealed (FUTURE_WRITE, SHRINK, GROW, SEAL; Linux 5.1) after it is mapped here. So a
// process that gets the descriptor can only map it for reading, even root in the container.

#include <span>

#include "base/descriptor.h"
#include "base/result.h"
#include "limit/wire.h"

namespace tranche::tenant {

class PolicyPage {
 public:
  // Fills in all that the policy does not decide: magic, version, size and the devices' UUIDs. No
  // device has a limit yet. kInvalidArgument: more than kMaxDevices; kUnsupported: this kernel
  // cannot seal it; kIo.
  using Uuid = unsigned char[16];
  static Result<PolicyPage> create(std::span<const Uuid> devices);

  PolicyPage(PolicyPage&& other) noexcept
      : fd_(std::move(other.fd_)), page_(std::exchange(other.page_, nullptr)) {}
  PolicyPage& operator=(PolicyPage&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(page_, other.page_);
    return *this;
  }
  ~PolicyPage();

  limit::wire::PolicyPage& get() { return *page_; }
  const limit::wire::PolicyPage& get() const { return *page_; }
  int fd() const { return fd_.get(); }

 private:
  PolicyPage(Descriptor fd, limit::wire::PolicyPage* page) : fd_(std::move(fd)), page_(page) {}

  Descriptor fd_;
  limit::wire::PolicyPage* page_ = nullptr;
};

}  // namespace tranche::tenant
