#pragma once
// What the manager keeps on the node's disk (agent/mig/mig_files.h), with the log lines for a disk
// that fails: each trouble is logged once. Used by one thread.

#include <filesystem>
#include <optional>

#include "agent/mig/mig_files.h"
#include "base/log.h"
#include "base/said_once.h"

namespace tranche::agent {

class MigRecords {
 public:
  // `log` outlives it.
  MigRecords(const std::filesystem::path& state_dir, const Log& log)
      : files_(state_dir), log_(log) {}

  // What an earlier agent stored; nullopt: nothing, or nothing that can be read.
  std::optional<mig::Journal> journal() const;
  std::optional<MigOutcome> outcome() const;

  // Whether it is on the disk.
  bool store(const mig::Journal& journal);
  // Whether there is none on the disk any more.
  bool drop_journal();

  void store(const MigOutcome& outcome) const;
  void drop_outcome() const;

 private:
  MigFiles files_;
  const Log& log_;
  SaidOnce said_;
};

}  // namespace tranche::agent
