#pragma once
// Asks the arbiter of this node about a container that is about to start (limit/start_message.h).

#include <chrono>
#include <filesystem>

#include "base/result.h"
#include "limit/start_message.h"

namespace tranche::hook {

// Waits no longer than until `deadline`, where `persists` also for an arbiter that is not there yet
// (it is replaced in a moment). kUnavailable: none is there, or it went; kTimeout: it does not
// answer.
Result<limit::StartAnswer> ask_arbiter(const std::filesystem::path& socket,
                                       const limit::StartNotice& notice,
                                       std::chrono::steady_clock::time_point deadline,
                                       bool persists);

}  // namespace tranche::hook
