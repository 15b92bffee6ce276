#pragma once
// Has the limits of MPS control daemons left open where claims get their GPUs, and set again where
// the device plugin does (mps/open_file.h). A daemon has one setting for all its GPUs, so they
// change hands together: to claims when no container of the device plugin holds one of them, back
// when no claim does.

#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
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
  // Whether a container of the device plugin holds one of these GPUs now. From any thread.
  using Granted = std::function<bool(const std::set<std::string>& gpus)>;
  // `root`: the folder of the daemons. `log` outlives it.
  MpsOpener(std::filesystem::path root, Granted granted, const Log& log)
      : root_(std::move(root)), granted_(std::move(granted)), log_(log) {}

  Result<void> follow(const Round& round) override;
  // Whether the limits of the resource's daemon are open, or about to be: nothing of it may be
  // granted. Whoever grants enters that first and asks then, as is done here the other way round,
  // so nobody is given what both have. Thread-safe.
  bool is_open(const std::string& resource) const;
  // Writes again what could not be written.
  void tick(TimePoint now) override;
  std::optional<TimePoint> next_tick() const override { return again_at_; }
  // The next agent says it.
  void rest() override;

 private:
  Result<std::set<std::string>> decide(const State& state);
  void put(const std::set<std::string>& open);
  void set_open(const std::set<std::string>& open);

  const std::filesystem::path root_;
  const Granted granted_;
  const Log& log_;
  SaidOnce said_;
  bool resting_ = false;
  std::optional<std::set<std::string>> unwritten_;
  std::optional<TimePoint> again_at_;  // when `unwritten_` is written again
  mutable std::mutex mutex_;           // guards open_
  std::set<std::string> open_;         // resources
};

}  // namespace tranche::agent
