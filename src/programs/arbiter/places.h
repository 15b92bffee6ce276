#pragma once
// Divides the processes for which the arbiter has descriptors among the tenants.
//
// A tenant may have one more process as long as it has fewer than there are free places. So the
// first tenant gets at most half of all places, the next one half of the rest, and of N tenants
// that want all, each gets at least 1/(N+1). If there is enough for everyone no tenant notices. No
// numbers of tenants or shares need to be known in advance.
//
// Used by the arbiter's one thread. It must outlive the leases.

#include <cstddef>
#include <utility>

namespace tranche::arbiter {

class Places {
 public:
  // Each registered process needs a pidfd and a connection.
  static constexpr std::size_t kDescriptors = 2;
  // Descriptors for everything else: each tenant's files and socket, NVML's, /proc.
  static constexpr std::size_t kOthers = 256;

  explicit Places(std::size_t total) : total_(total) {}
  // As many places as RLIMIT_NOFILE allows descriptors for.
  static Places of_this_process();
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  // A place that is released at the end of its lifetime.
  class Lease {
   public:
    explicit Lease(Places& places) : places_(&places) { ++places.used_; }
    Lease(Lease&& other) noexcept : places_(std::exchange(other.places_, nullptr)) {}
    Lease& operator=(Lease&& other) noexcept {
      std::swap(places_, other.places_);
      return *this;
    }
    ~Lease() {
      if (places_ != nullptr) --places_->used_;
    }

   private:
    Places* places_;
  };

  // Whether a tenant that has `mine` places may have another one.
  bool may_take(std::size_t mine) const { return used_ + mine < total_; }

 private:
  std::size_t total_;
  std::size_t used_ = 0;  // may exceed the total: processes of the previous arbiter are kept
};

}  // namespace tranche::arbiter
