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

// How long to wait before the next attempt; nullopt: no further attempt. A request is tried again:
// - if it never left this machine, or if it is a read without a complete response;
// - after 429 and after a response with Retry-After, because the server refused before processing
//   it;
// - if it is a read, also after 500, 502, 503 and 504 without Retry-After.
// The wait is 100 ms, doubled each time up to 5 s, or the value of Retry-After up to 30 s. There
// are 5 attempts in total, 10 if the server says when.
std::optional<std::chrono::milliseconds> wait_before_next(const Attempt& attempt);

}  // namespace tranche::kube
