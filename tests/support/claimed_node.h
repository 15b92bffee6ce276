#pragma once
// A node that agents of releases claim (agent/node/node_claim.h), by their state folder and by one
// that all of them see.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "agent/node/node_claim.h"
#include "support/temp_dir.h"

namespace tranche::test {

class ClaimedNode {
 public:
  using Lock = std::unique_ptr<agent::NodeLock>;

  // `state`: the name of the agent's state folder.
  agent::NodeClaim claim(const std::string& release, const std::string& state = "state") const {
    return {dir_.path() / state, release, {dir_.path() / "tranche"}};
  }
  // The release's agent serves the node until the lock is released.
  Lock serve(const std::string& release, const std::string& state = "state") const {
    const auto claim = this->claim(release, state);
    auto lock = agent::lock_node(claim, [](const auto&) { return false; });
    EXPECT_TRUE(lock && *lock);
    EXPECT_TRUE(claim.write());
    return lock ? *std::move(lock) : nullptr;
  }

 private:
  TempDir dir_;
};

}  // namespace tranche::test
