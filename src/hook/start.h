#pragma once
// What the hook does about a container: looks which tenants it is, what its image preloads, and
// whether the kernel is to keep its memory; tells the arbiter, and where the kernel is to keep it
// waits until it does (docs/decisions/0015-runtime-hook.md).

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tranche::hook {

struct Options {
  std::filesystem::path tenants;  // the agent's folder, on the host
  // So long a container whose memory the kernel is to keep waits for that.
  std::chrono::milliseconds patience{10000};
  // So long one that has only something to tell.
  std::chrono::milliseconds courtesy{1000};
};

struct Verdict {
  bool may_start = true;
  std::string message;  // for whoever reads the runtime's error, or its log; may be empty
};

// `state`: what the runtime wrote to the hook. `on_decided` is called once it is known whether the
// container may start in any case.
Verdict decide(std::string_view state, const Options& options,
               const std::function<void(bool starts_anyway)>& on_decided = {});

}  // namespace tranche::hook
