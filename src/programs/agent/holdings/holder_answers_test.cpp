#include "agent/holdings/holder_answers.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "support/fake_clock.h"
#include "support/fake_pod_resources.h"

namespace tranche::agent::holder_answers_test {
namespace {

using std::chrono::seconds;

// A kubelet whose answers wait for answer().
class SlowKubelet final : public cluster::PodResources {
 public:
  Result<cluster::ListedHolders> list() override {
    std::unique_lock lock(mutex_);
    const int question = ++asked_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return answered_ >= question; });
    return cluster::ListedHolders{
        .devices = std::vector<cluster::HeldDevices>(static_cast<std::size_t>(question))};
  }
  Result<std::vector<cluster::HeldDevices>> remembered() override {
    return std::vector<cluster::HeldDevices>();
  }
  Result<cluster::AllocatableDevices> allocatable() override {
    return cluster::AllocatableDevices();
  }
  void wait_for_question(int number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return asked_ >= number; });
  }
  void answer() {
    const std::scoped_lock lock(mutex_);
    ++answered_;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int asked_ = 0;
  int answered_ = 0;
};

class HolderAnswersTest : public testing::Test {
 protected:
  test::FakeClock clock_;
  test::FakePodResources kubelet_;
  HolderAnswers answers_{kubelet_, clock_};
};

TEST_F(HolderAnswersTest, AnAnswerThatIsYoungEnoughIsShared) {
  EXPECT_EQ(answers_.last(), nullptr);
  const auto first = answers_.get(seconds(2)).value();
  clock_.advance(seconds(2));
  EXPECT_EQ(answers_.get(seconds(2)).value(), first);
  clock_.advance(seconds(1));
  EXPECT_NE(answers_.get(seconds(2)).value(), first);
  EXPECT_EQ(kubelet_.asked(), 2);
}

TEST_F(HolderAnswersTest, NowIsAfterTheCall) {
  const auto first = answers_.get(HolderAnswers::kNow).value();
  const auto second = answers_.get(HolderAnswers::kNow).value();
  EXPECT_NE(first, second) << "though no time has passed";
  EXPECT_EQ(answers_.last(), second);
}

TEST_F(HolderAnswersTest, AFailureIsNoEmptyAnswer) {
  kubelet_.go_away(true);
  EXPECT_FALSE(answers_.get(seconds(2)));
  EXPECT_FALSE(answers_.get(seconds(2))) << "shared, too";
  EXPECT_EQ(kubelet_.asked(), 1);
  EXPECT_EQ(answers_.last(), nullptr);
  kubelet_.go_away(false);
  EXPECT_TRUE(answers_.get(HolderAnswers::kNow));
}

TEST(HolderAnswers, WhoeverComesMeanwhileGetsTheNextAnswerOrTheOneThatIsYoungEnough) {
  SystemClock clock;
  SlowKubelet kubelet;
  HolderAnswers answers(kubelet, clock);
  const auto get = [&](std::chrono::milliseconds age) {
    return std::async(std::launch::async, [&, age] { return answers.get(age).value()->listed; });
  };
  auto first = get(HolderAnswers::kNow);
  kubelet.wait_for_question(1);
  auto content = get(std::chrono::hours(1));
  auto strict = get(HolderAnswers::kNow);
  kubelet.answer();
  EXPECT_EQ(first.get().size(), 1U);
  kubelet.wait_for_question(2);
  kubelet.answer();
  EXPECT_EQ(strict.get().size(), 2U) << "the first began before it came";
  EXPECT_LE(content.get().size(), 2U) << "one of both, and no third";
}

}  // namespace
}  // namespace tranche::agent::holder_answers_test
