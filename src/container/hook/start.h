#pragma once
// Decides whether a container may start: finds its tenants, its image's preloaded libraries, and
// whether the kernel must limit its memory. The hook informs the arbiter. If the kernel must limit
// the memory, the hook waits until it does (docs/decisions/0015-runtime-hook.md).

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tranche::hook {

struct Options {
  std::filesystem::path tenants;  // the agent's folder, on the host
  // The longest wait for a container whose memory the kernel must limit.
  std::chrono::milliseconds patience{10000};
  // The longest wait for a container that only has something to report.
  std::chrono::milliseconds courtesy{1000};
};

struct Verdict {
  bool may_start = true;
  std::string message;  // for readers of the runtime's error or log; may be empty
};

// `state`: the text that the runtime wrote to the hook. `on_decided` is called once it is known
// whether the container starts in any case.
Verdict decide(std::string_view state, const Options& options,
               const std::function<void(bool starts_anyway)>& on_decided = {});

}  // namespace tranche::hook
