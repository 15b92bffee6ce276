#pragma once
// Asks the arbiter of this node about a container that is about to start (limit/start_message.h).

#include <chrono>
#include <filesystem>

#include "base/result.h"
#include "limit/start_message.h"

namespace tranche::hook {

// Waits until `deadline` at most. With `persists` it also waits for a missing arbiter, because one
// being replaced is back in a moment. kUnavailable: there is no arbiter, or it hung up; kTimeout:
// it does not answer.
Result<limit::StartAnswer> ask_arbiter(const std::filesystem::path& socket,
                                       const limit::StartNotice& notice,
                                       std::chrono::steady_clock::time_point deadline,
                                       bool persists);

}  // namespace tranche::hook
