#include "agent/mig/mig_announcer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/mig/machine_testing.h"
#include "cluster/formats/reasons.h"
#include "gpu/mig_tables.h"
#include "support/fake_clock.h"
#include "support/log_recorder.h"

namespace tranche::agent::mig_announcer_test {
namespace {

using machine_testing::facts;
using machine_testing::journal;
using machine_testing::kGpu;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using Kind = MigMove::Kind;
using Phase = mig::Journal::Phase;

MigView view() {
  const auto* model = gpu::find_mig_model("h100-80gb");
  MigView view;
  view.state.machine.emplace();
  view.state.machine->gpus = {{.index = 0,
                               .uuid = kGpu,
                               .name = std::string(model->product_names.front()),
                               .minor = 0,
                               .memory = Bytes::from_mib(81920),
                               .compute_capability = {9, 0},
                               .mig_mode = gpu::MigMode::kDisabled,
                               .mig_geometry = model->geometry}};
  view.state.config.flags.mig_strategy = config::MigStrategy::kMixed;
  return view;
}

class MigAnnouncerTest : public testing::Test {
 protected:
  bool publish() { return announcer_.publish(node_, progress_, pods_, view(), {}); }
  void report(Kind kind, const MigFacts& facts, std::optional<Phase> before = {}) {
    announcer_.report({.kind = kind}, facts, progress_, before, view());
  }
  std::string annotation(const char* name) const {
    const auto found = written_.back().annotations.find(name);
    return found == written_.back().annotations.end() ? "" : found->second.value_or("");
  }

  test::FakeClock clock_;
  test::LogRecorder log_;
  cluster::Node node_{.name = "n", .resource_version = "1"};
  bool takes_ = true;
  std::vector<NodeWriter::Change> written_;
  std::vector<NodeNotice> told_;
  std::vector<ConditionReport> reported_;
  MigProgress progress_{.boot = "boot-1", .restored = true};
  MigPods pods_;
  MigAnnouncer announcer_{
      {},
      {.write =
           [this](const NodeWriter::Change& change, const cluster::Call&) {
             written_.push_back(change);
             return takes_;
           },
       .tell = [this](const NodeNotice& notice) { told_.push_back(notice); },
       .report = [this](const ConditionReport& report) { reported_.push_back(report); },
       .clock = clock_,
       .log = log_.log()}};
};

TEST(MigCounts, SayWhatBecomesOfEachResource) {
  const auto counts = count_tranches(journal(Phase::kAsking), view());
  EXPECT_THAT(counts.before, ElementsAre(Pair("nvidia.com/gpu", 1)));
  EXPECT_THAT(counts.after, ElementsAre(Pair("nvidia.com/mig-3g.40gb", 1)));
  EXPECT_EQ(describe(counts), "nvidia.com/gpu 1 -> 0, nvidia.com/mig-3g.40gb 0 -> 1");
  EXPECT_EQ(describe(MigCounts{counts.before, counts.before}), "");
}

TEST_F(MigAnnouncerTest, AChangeIsWrittenOnceUntilItDiffers) {
  progress_.journal = journal(Phase::kAsking);
  pods_.holders = {cluster::ObjectKey{"default", "train"}};
  EXPECT_TRUE(publish());
  EXPECT_TRUE(publish()) << "the Node lags";
  ASSERT_THAT(written_, SizeIs(1));
  EXPECT_EQ(written_[0].labels.at(cluster::kMigStateLabel), kMigPending);
  const auto change = cluster::decode_mig_change(annotation(cluster::kMigChangeAnnotation));
  ASSERT_TRUE(change);
  EXPECT_EQ(change->phase, cluster::MigPhase::kAsking);
  EXPECT_THAT(change->pods, ElementsAre(cluster::ObjectKey{"default", "train"}));
  EXPECT_THAT(change->before, ElementsAre(Pair("nvidia.com/gpu", 1)));
  pods_.holders.clear();
  EXPECT_TRUE(publish());
  EXPECT_THAT(written_, SizeIs(2));
}

TEST_F(MigAnnouncerTest, ATextThatTheApiServerDidNotTakeIsWrittenAgain) {
  progress_.journal = journal(Phase::kAsking);
  takes_ = false;
  EXPECT_FALSE(publish());
  takes_ = true;
  EXPECT_TRUE(publish());
  EXPECT_THAT(written_, SizeIs(2));
}

TEST_F(MigAnnouncerTest, TheBeginOfADrainIsAnEventWhereNoControllerAnswers) {
  progress_.journal = journal(Phase::kDraining);
  auto seen = facts();
  seen.holders = machine_testing::kOne;
  report(Kind::kJournal, seen, Phase::kDraining);
  EXPECT_THAT(told_, IsEmpty()) << "it goes on";
  report(Kind::kJournal, seen, Phase::kAsking);
  ASSERT_THAT(told_, SizeIs(1));
  EXPECT_EQ(told_[0].reason, cluster::reason::kMigChangeAnnounced);
  EXPECT_EQ(told_[0].note,
            "MIG layout all-3g.40gb: nvidia.com/gpu 1 -> 0, nvidia.com/mig-3g.40gb 0 -> 1; Pods "
            "that hold it: default/train");
  seen.answer = machine_testing::accepted();
  report(Kind::kJournal, seen, Phase::kAsking);
  EXPECT_THAT(told_, SizeIs(1)) << "a controller that answers has announced it";
}

TEST_F(MigAnnouncerTest, WhatTheGpusHaveAfterAFailureIsSaid) {
  struct Case {
    MigEnd end;
    const char* text;
    const char* reason;
  };
  progress_.journal = journal(Phase::kFinished);
  progress_.journal->trouble = "no room";
  for (const auto& [end, text, reason] :
       {Case{MigEnd::kUntouched, "nothing was changed: no room", cluster::reason::kMigNotChanged},
        Case{MigEnd::kUndone, "the change was undone: no room", cluster::reason::kMigChangeFailed},
        Case{MigEnd::kBetween, "nor the one before it: no room", cluster::reason::kMigChangeFailed},
        Case{MigEnd::kUnread, "was not undone: no room", cluster::reason::kMigChangeFailed}}) {
    progress_.end = end;
    announcer_.report_end(progress_);
    EXPECT_THAT(reported_.back().message, HasSubstr(text));
    EXPECT_EQ(reported_.back().reason, reason);
    EXPECT_FALSE(reported_.back().good);
  }
}

TEST_F(MigAnnouncerTest, WhatItWaitsForIsLoggedOnceAndIsTheRemark) {
  progress_.journal = journal(Phase::kDraining);
  auto seen = facts();
  seen.clients = {"gpu-operator/nvidia-dcgm-x7f2"};
  announcer_.note_wait(seen, progress_);
  announcer_.note_wait(seen, progress_);
  EXPECT_EQ(log_.count("waits: Pods of NVIDIA's clients end first"), 1);
  EXPECT_THAT(announcer_.remark(), HasSubstr("all-3g.40gb: draining, waits: Pods of NVIDIA's"));
  progress_.journal.reset();
  announcer_.note_wait(facts(), progress_);
  EXPECT_EQ(announcer_.remark(), "");
}

// A failed attempt remains the reason for waiting while the next one runs.
TEST_F(MigAnnouncerTest, WhoHasAGpuOpenIsNamedUntilAnAttemptSucceeds) {
  progress_.journal = journal(Phase::kChanging);
  auto seen = facts();
  seen.applied = fail(Code::kFailedPrecondition, "GPU 0 is in use by train");
  announcer_.note_wait(seen, progress_);
  seen.applied.reset();
  announcer_.note_wait(seen, progress_);
  EXPECT_THAT(announcer_.remark(), HasSubstr("waits: GPU 0 is in use by train"));
  seen.applied = Result<void>();
  announcer_.note_wait(seen, progress_);
  EXPECT_EQ(announcer_.remark(), "MIG layout all-3g.40gb: changing");
}

TEST_F(MigAnnouncerTest, AfterTheChangeTheStateIsWrittenForTheWishOfThatVersionOfTheNode) {
  progress_.outcome = machine_testing::outcome();
  node_.labels[cluster::kMigConfigLabel] = "all-1g.10gb";
  EXPECT_TRUE(publish());
  ASSERT_THAT(written_, SizeIs(1));
  EXPECT_THAT(written_[0].labels, IsEmpty()) << "another layout is asked for";
  node_.labels[cluster::kMigConfigLabel] = "all-3g.40gb";
  EXPECT_TRUE(publish());
  ASSERT_THAT(written_, SizeIs(2));
  EXPECT_EQ(written_[1].labels.at(cluster::kMigStateLabel), kMigSuccess);
  EXPECT_EQ(written_[1].resource_version, "1");
}

}  // namespace
}  // namespace tranche::agent::mig_announcer_test
