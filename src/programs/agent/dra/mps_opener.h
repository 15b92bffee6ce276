#pragma once
// Has the limits of MPS control daemons left open where claims get their GPUs, and set again where
// the device plugin does (mps/open_file.h). A daemon has one setting for all its GPUs, so they
// change hands together: to claims when no container of the device plugin holds one of them, back
// when no claim does.

#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "agent/holdings/book.h"
#include "agent/loop/follower.h"
#include "base/log.h"
#include "base/said_once.h"

namespace tranche::agent {

// The resources whose daemons' limits are to be left open; `before`: those of now. What is held is
// not always known: then they stay as they are. Pure.
std::set<std::string> resources_to_open(const State& state, const std::set<std::string>& before);

class MpsOpener final : public Follower {
 public:
  // `root`: the folder of the daemons. The references outlive it.
  MpsOpener(std::filesystem::path root, Book& book, const Log& log)
      : root_(std::move(root)), book_(book), log_(log) {}

  Phase phase() const override { return Phase::kPrepare; }
  Result<void> follow(const Round& round) override;
  // Writes again what could not be written.
  void tick(TimePoint now) override;
  std::optional<TimePoint> next_tick() const override { return again_at_; }
  // The next agent says it.
  void rest() override;

 private:
  Result<std::set<std::string>> decide(const State& state);
  void put(const std::set<std::string>& open);

  const std::filesystem::path root_;
  Book& book_;
  const Log& log_;
  SaidOnce said_;
  bool resting_ = false;
  std::optional<std::set<std::string>> unwritten_;
  std::optional<TimePoint> again_at_;  // when `unwritten_` is written again
};

}  // namespace tranche::agent
