#pragma once
// The manager's files on the node's disk (agent/mig/mig_files.h); logs each trouble with them once.
// Used by one thread.

#include <filesystem>
#include <optional>

#include "agent/mig/mig_files.h"
#include "base/log.h"
#include "base/said_once.h"

namespace tranche::agent {

class MigRecords {
 public:
  MigRecords(const std::filesystem::path& state_dir, const Log& log)
      : files_(state_dir), log_(log) {}

  // What an earlier agent stored; nullopt: nothing readable.
  std::optional<mig::Journal> journal() const;
  std::optional<MigOutcome> outcome() const;

  // True: it is on the disk.
  bool store(const mig::Journal& journal);
  // True: none is on the disk any more.
  bool drop_journal();

  void store(const MigOutcome& outcome) const;
  void drop_outcome() const;

 private:
  MigFiles files_;
  const Log& log_;
  SaidOnce said_;
};

}  // namespace tranche::agent
