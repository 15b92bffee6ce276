#pragma once
// Has MPS control daemons leave limits open where claims get their GPUs, and set them where the
// device plugin does (mps/open_file.h). A daemon has one setting for all its GPUs, so they change
// together: to claims when no container of the device plugin holds one, back when no claim does.

#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "agent/holdings/book.h"
#include "agent/loop/follower.h"
#include "base/log.h"
#include "base/said_once.h"

namespace tranche::agent {

// The resources whose daemons should leave limits open; `before`: those of now, which stay as they
// are while it is unknown what is held. Pure.
std::set<std::string> resources_to_open(const State& state, const std::set<std::string>& before);

class MpsOpener final : public Follower {
 public:
  // `root`: the folder of the daemons.
  MpsOpener(std::filesystem::path root, Book& book, const Log& log)
      : root_(std::move(root)), book_(book), log_(log) {}

  Phase phase() const override { return Phase::kPrepare; }
  Result<void> follow(const Round& round) override;
  // Retries what could not be written.
  void tick(TimePoint now) override;
  std::optional<TimePoint> next_tick() const override { return again_at_; }
  // The next agent decides from here on.
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
