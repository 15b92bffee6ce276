#include "agent/mps/mps_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "offer/make_offer.h"
#include "offer/testing.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"

namespace tranche::agent::mps_rules_test {
namespace {

using config::EqualChunks;
using config::MpsControlRules;
using offer::testing::entry;
using test::a100_40gb;
using test::machine_of;
using test::t4;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class NoGpus final : public gpu::Control {
 public:
  Result<void> set_compute_mode(const std::string&, gpu::ComputeMode) override { return {}; }
};

class RulesTest : public ::testing::Test {
 protected:
  MpsControlRules settle(const MpsControlRules& wanted, const gpu::Machine& machine,
                         const config::Config& config) {
    return rules_.settle(wanted, machine, offer::make_offer(machine, config, {}));
  }

  NoGpus gpus_;
  test::LogRecorder log_;
  Result<host::ChildEnd> version_ = host::ChildEnd{0, "CUDA MPS Control binary version: 13040\n"};
  int asked_ = 0;
  std::vector<NodeNotice> told_;
  MpsTools tools_{
      .control =
          [this](const std::vector<std::string>& arguments, const auto&, const std::string&) {
            EXPECT_EQ(arguments, std::vector<std::string>{"-v"});
            ++asked_;
            return version_;
          },
      .gpus = gpus_,
      .root = "/mps",
      .host = FsRoot(),
      .daemon_log = [](const std::string&) {},
      .log = log_.log()};
  MpsRules rules_{tools_, [this](const NodeNotice& notice) { told_.push_back(notice); }};
  const MpsControlRules all_{.protocol = mps::protocols().back()->number(),
                             .sm_partitions = EqualChunks{}};
  const config::Config shared_ = offer::testing::mps({entry("gpu", 4)});
};

TEST_F(RulesTest, AskTheProgramOnce) {
  EXPECT_EQ(settle(all_, machine_of({a100_40gb(0)}), shared_), all_);
  EXPECT_EQ(settle(all_, machine_of({a100_40gb(0)}), shared_), all_);
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(log_.count("nvidia-cuda-mps-control " + mps::describe({13040, true})), 1);
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(RulesTest, AskNothingWhereNothingIsAskedFor) {
  const auto machine = machine_of({a100_40gb(0)});
  EXPECT_EQ(settle({}, machine, shared_), MpsControlRules());
  EXPECT_EQ(settle(all_, machine, {}), MpsControlRules());
  EXPECT_EQ(settle(all_, machine, offer::testing::time_slicing({entry("gpu", 4)})),
            MpsControlRules());
  EXPECT_EQ(asked_, 0);
}

TEST_F(RulesTest, SayOnceWhatIsFallenBackFrom) {
  version_ = host::ChildEnd{0, "CUDA MPS Control binary version: 12080\n"};
  const MpsControlRules wish{.protocol = 3, .sm_partitions = EqualChunks{}};
  EXPECT_EQ(settle(wish, machine_of({a100_40gb(0)}), shared_), MpsControlRules());
  EXPECT_EQ(settle(wish, machine_of({a100_40gb(0)}), shared_), MpsControlRules());
  ASSERT_THAT(told_, SizeIs(2));
  EXPECT_EQ(told_[0].reason, "MpsFallback");
  EXPECT_THAT(told_[0].note, HasSubstr("protocol 2 is used"));
  EXPECT_EQ(log_.count("protocol 2 is used"), 1);
}

TEST_F(RulesTest, SayWhichGpuHasNoPartitions) {
  const auto machine = machine_of({t4(0)});
  EXPECT_EQ(settle(all_, machine, shared_), all_) << "the plan leaves them out for that resource";
  ASSERT_THAT(told_, SizeIs(1));
  EXPECT_THAT(told_[0].note, HasSubstr("GPU 0 (Tesla T4) of nvidia.com/gpu has no static SM"));
}

TEST_F(RulesTest, StayOpenUntilThereIsAProgram) {
  const auto found = version_;
  version_ = fail(Code::kNotFound, "there is no nvidia-cuda-mps-control");
  EXPECT_EQ(settle(all_, machine_of({a100_40gb(0)}), shared_), MpsControlRules());
  EXPECT_TRUE(rules_.is_open());
  EXPECT_THAT(told_, IsEmpty());
  version_ = found;
  EXPECT_EQ(settle(all_, machine_of({a100_40gb(0)}), shared_), all_);
  EXPECT_FALSE(rules_.is_open());
}

}  // namespace
}  // namespace tranche::agent::mps_rules_test
