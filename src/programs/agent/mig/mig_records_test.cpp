#include "agent/mig/mig_records.h"

#include <gtest/gtest.h>

#include "agent/mig/machine_testing.h"
#include "base/fs.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"

namespace tranche::agent::mig_records_test {
namespace {

using Phase = mig::Journal::Phase;

struct Disk {
  test::TempDir dir;
  test::LogRecorder log;
  MigRecords records{dir.path(), log.log()};

  // Puts a file in place of the records' folder: nothing can be written or read.
  void spoil() { EXPECT_TRUE(FsRoot().write_atomic(dir.path() / "mig", "")); }
};

TEST(MigRecords, AnotherAgentFindsWhatWasStored) {
  Disk disk;
  EXPECT_FALSE(disk.records.journal());
  EXPECT_FALSE(disk.records.outcome());
  const auto journal = machine_testing::journal(Phase::kDraining);
  const auto outcome = machine_testing::outcome("no room");
  EXPECT_TRUE(disk.records.store(journal));
  disk.records.store(outcome);
  const MigRecords next(disk.dir.path(), disk.log.log());
  EXPECT_EQ(next.journal(), journal);
  EXPECT_EQ(next.outcome(), outcome);
  EXPECT_TRUE(disk.records.drop_journal());
  EXPECT_TRUE(disk.records.drop_journal()) << "there is none";
  disk.records.drop_outcome();
  EXPECT_FALSE(next.journal());
  EXPECT_FALSE(next.outcome());
  EXPECT_TRUE(disk.log.lines().empty());
}

TEST(MigRecords, ADiskThatTakesNoJournalIsLoggedOnce) {
  Disk disk;
  disk.spoil();
  const auto journal = machine_testing::journal(Phase::kDraining);
  EXPECT_FALSE(disk.records.store(journal));
  EXPECT_FALSE(disk.records.store(journal));
  EXPECT_EQ(disk.log.count("the journal of a MIG change is not on disk"), 1);
}

TEST(MigRecords, WhatIsTornIsLoggedAndNotTaken) {
  Disk disk;
  EXPECT_TRUE(disk.records.store(machine_testing::journal(Phase::kDraining)));
  disk.records.store(machine_testing::outcome());
  for (const auto* name : {"journal.json", "applied.json"}) {
    const auto file = disk.dir.path() / "mig" / name;
    const auto text = FsRoot().read(file);
    ASSERT_TRUE(text);
    ASSERT_TRUE(FsRoot().write_atomic(file, text->substr(0, text->size() / 2)));
  }
  EXPECT_FALSE(disk.records.journal());
  EXPECT_FALSE(disk.records.outcome());
  EXPECT_EQ(disk.log.count("the journal of a MIG change cannot be read"), 1);
  EXPECT_EQ(disk.log.count("what became of the last MIG layout is not known"), 1);
}

}  // namespace
}  // namespace tranche::agent::mig_records_test
