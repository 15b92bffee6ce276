#pragma once
// Has the limits of MPS control daemons left open where claims get their GPUs, and set again where
// the device plugin does (mps/open_file.h). A daemon has one setting for all its GPUs, so they
// change hands together: to claims when no container of the device plugin holds one of them, back
// when no claim does.

#include <filesystem>
#include <set>
#include <string>

#include "agent/loop/follower.h"
#include "base/log.h"
#include "base/said_once.h"

namespace tranche::agent {

// The resources whose daemons' limits are to be left open; `before`: those of now. What is held is
// not always known: then they stay as they are. Pure.
std::set<std::string> resources_to_open(const State& state, const std::set<std::string>& before);

class MpsOpener final : public Follower {
 public:
  // `root`: the folder of the daemons. `log` outlives it.
  MpsOpener(std::filesystem::path root, const Log& log) : root_(std::move(root)), log_(log) {}

  Result<void> follow(const Round& round) override;
  // The next agent says it.
  void rest() override { resting_ = true; }

 private:
  Result<void> write(const State& state) const;

  const std::filesystem::path root_;
  const Log& log_;
  SaidOnce said_;
  bool resting_ = false;
};

}  // namespace tranche::agent
