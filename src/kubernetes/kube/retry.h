#pragma once
// Decides whether and when a call is made again. A pure function; the client does the waiting.

#include <chrono>
#include <optional>

namespace tranche::kube {

// The outcome of one attempt.
struct Attempt {
  int number = 1;        // 1: the first
  bool reads = false;    // the request is safe to send twice
  bool reached = false;  // the request may have left this machine
  long status = 0;       // HTTP's; 0: no answer
  std::optional<std::chrono::seconds> retry_after = {};
};

// The wait is 100 ms, doubled each time up to 5 s, or the value of Retry-After up to 30 s. There
// are 5 attempts in total, 10 if the server sends Retry-After.
std::optional<std::chrono::milliseconds> wait_before_next(const Attempt& attempt);

}  // namespace tranche::kube
