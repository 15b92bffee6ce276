#pragma once
// When a call is made again. A pure function; the client waits.

#include <chrono>
#include <optional>

namespace tranche::kube {

// What came of the attempt.
struct Attempt {
  int number = 1;
  bool reads = false;    // may be asked twice without harm
  bool reached = false;  // the request may have left this machine
  long status = 0;       // HTTP's; 0: no answer
  std::optional<std::chrono::seconds> retry_after = {};
};

// How long to wait before the next one; nullopt: the outcome stands.
// - what never left this machine is tried again, and so is a read without a whole answer;
// - 429 was refused before it began, and so was what is answered with Retry-After: tried again;
// - a read is tried again after 500, 502, 503 and 504 also without it.
// 100 ms, doubled each time up to 5 s, or what Retry-After says up to 30 s; 5 attempts in all, 10
// where the server says when.
std::optional<std::chrono::milliseconds> wait_before_next(const Attempt& attempt);

}  // namespace tranche::kube
