#include "top/source/agent_or_local.h"

#include <fmt/format.h>

namespace tranche::top {

Result<Reading> AgentOrLocal::read(const std::stop_token& stop) {
  if (chosen_ != nullptr) return chosen_->read(stop);
  auto reading = agent_->read(stop);
  if (reading) {
    chosen_ = agent_.get();
    return reading;
  }
  // An agent that refuses is there.
  if (reading.error().code != Code::kUnavailable || stop.stop_requested()) return reading;
  auto local = local_->read(stop);
  if (local) {
    chosen_ = local_.get();
    return local;
  }
  return fail(local.error().code,
              fmt::format("no agent answers: {}; nor does the driver: {}", reading.error().what,
                          local.error().what),
              "name an agent with --agent, or a cluster with --cluster");
}

}  // namespace tranche::top
