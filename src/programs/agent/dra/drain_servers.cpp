#include "agent/dra/drain_servers.h"

#include <fmt/format.h>

#include <utility>

namespace tranche::agent {

Result<void> DrainServers::look(const std::set<std::string>& names) {
  const auto now = ports_.clock.now();
  for (const auto& name : names) {
    const auto [known, is_new] =
        names_.try_emplace(name, Name{.begin = now + kWipe, .wanted = now});
    known->second.wanted = now;
  }
  std::erase_if(names_, [&](const auto& one) {
    if (now - one.second.wanted < kLinger) return false;
    ports_.log.info(
        fmt::format("the last claim has ended that was prepared under the name {}: "
                    "nobody serves it any more",
                    one.first));
    return true;
  });
  idle_ = names_.empty();
  for (auto& [name, one] : names_) {
    if (now < one.begin || (one.server != nullptr && one.server->intact())) continue;
    one.server.reset();
    ASSIGN_OR_RETURN(one.server, ports_.start(name, driver_, health_));
  }
  return {};
}

}  // namespace tranche::agent
