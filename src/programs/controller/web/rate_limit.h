#pragma once
// How often somebody may ask: `burst` times at once, and then `per_second` times. Remembers at most
// kMost of those who ask; when there are more, the one who has asked least lately is forgotten.
//
// Thread-safe.

#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>

namespace tranche::controller {

class RateLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;

  RateLimit(double per_second, double burst) : per_second_(per_second), burst_(burst) {}

  bool allows(const std::string& who, Time now);

  static constexpr std::size_t kMost = 1024;

 private:
  struct Bucket {
    double left = 0;
    Time at;
  };
  void make_room();

  const double per_second_;
  const double burst_;
  std::mutex mutex_;
  std::map<std::string, Bucket> buckets_;
};

}  // namespace tranche::controller
