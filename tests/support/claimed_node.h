#pragma once
// A node's state folder that agents of releases claim (agent/node/node_claim.h).

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "agent/node/node_claim.h"
#include "base/fs.h"
#include "support/temp_dir.h"

namespace tranche::test {

class ClaimedNode {
 public:
  using Lock = std::unique_ptr<process::ProcessLock>;

  agent::NodeClaim claim(const std::string& release) const { return {state(), release}; }
  // The release's agent serves the node until the lock goes.
  Lock serve(const std::string& release) const {
    EXPECT_TRUE(FsRoot().make_directories(state()));
    auto lock = process::ProcessLock::take(claim(release).file(), [] { return false; });
    EXPECT_TRUE(lock && *lock);
    EXPECT_TRUE(claim(release).write());
    return lock ? *std::move(lock) : nullptr;
  }

 private:
  std::filesystem::path state() const { return dir_.path() / "state"; }

  TempDir dir_;
};

}  // namespace tranche::test
