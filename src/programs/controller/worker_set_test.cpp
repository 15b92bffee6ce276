#include "controller/worker_set.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/programs/controller_options.h"
#include "controller/evictor.h"
#include "controller/policy_controller.h"
#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/wait.h"

namespace tranche::controller::worker_set_test {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;
using Lines = std::vector<std::string>;

// Records its start, its end, and how long it may write.
class TestWorker final : public Worker {
 public:
  TestWorker(std::string name, const WorkerContext& context, Lines& happened)
      : name_(std::move(name)), happened_(happened) {
    happened_.push_back(
        context.time_left ? fmt::format("{} begins, for {} ms", name_, context.time_left().count())
                          : fmt::format("{} begins, for ever", name_));
  }
  ~TestWorker() override { happened_.push_back(name_ + " ends"); }
  TestWorker(const TestWorker&) = delete;
  TestWorker& operator=(const TestWorker&) = delete;

  std::optional<std::string> trouble() const override { return trouble_; }
  void set_trouble(std::string trouble) { trouble_ = std::move(trouble); }

 private:
  std::string name_;
  Lines& happened_;
  std::optional<std::string> trouble_;
};

class WorkerSetTest : public testing::Test {
 protected:
  WorkerPlan plan(const std::string& name, bool needs_leadership) {
    return {.name = name,
            .needs_leadership = needs_leadership,
            .purposes = {},
            .start = [this, name](const WorkerContext& context) {
              auto worker = std::make_unique<TestWorker>(name, context, happened_);
              last_ = worker.get();
              return worker;
            }};
  }
  WorkerContext context() {
    return {.objects = objects_,
            .clock = clock_,
            .log = log_.log(),
            .watches = watches_,
            .instance = "pod-1",
            .time_left = [] { return milliseconds(7000); }};
  }
  Lines take_happened() { return std::exchange(happened_, {}); }

  test::FakeObjects objects_;
  test::FakeClock clock_;
  test::LogRecorder log_;
  SharedWatches watches_{
      objects_, log_.log(), {.first = milliseconds(1), .longest = milliseconds(4)}};
  Lines happened_;
  TestWorker* last_ = nullptr;
};

TEST_F(WorkerSetTest, LeadershipStartsAndEndsWorkersThatNeedIt) {
  {
    WorkerSet workers({plan("policy", true), plan("admission", false), plan("evictions", true)},
                      context());
    workers.follow(false);
    EXPECT_THAT(take_happened(), ElementsAre("admission begins, for ever"));
    workers.follow(true);
    workers.follow(true);
    EXPECT_THAT(take_happened(),
                ElementsAre("policy begins, for 7000 ms", "evictions begins, for 7000 ms"));
    workers.follow(false);
    EXPECT_THAT(take_happened(), ElementsAre("evictions ends", "policy ends"));
    workers.follow(true);
    EXPECT_EQ(take_happened().size(), 2U);
  }
  EXPECT_THAT(take_happened(), ElementsAre("evictions ends", "admission ends", "policy ends"));
}

TEST_F(WorkerSetTest, HealthShowsWhichWorkersRun) {
  WorkerSet workers({plan("policy", true), plan("metrics", false)}, context());
  using Health = WorkerSet::Health;
  EXPECT_THAT(workers.health(),
              ElementsAre(Health{"policy", false, {}}, Health{"metrics", true, {}}));
  workers.follow(true);
  last_->set_trouble("the API server is away");
  workers.follow(true);
  workers.follow(true);
  EXPECT_THAT(workers.health(), ElementsAre(Health{"policy", true, "the API server is away"},
                                            Health{"metrics", true, {}}));
  EXPECT_EQ(log_.count("worker policy: the API server is away"), 1);
  EXPECT_EQ(log_.count("worker metrics: works"), 1);
}

TEST_F(WorkerSetTest, WithoutWorkersNothingHappens) {
  WorkerSet workers({}, context());
  workers.follow(true);
  EXPECT_THAT(workers.health(), IsEmpty());
}

// The real workers.
TEST_F(WorkerSetTest, ThePolicyAndTheEvictionsWork) {
  const config::ControllerOptions options{
      .ns = "gpu", .config_map_out = "out", .evict_unregistered = true};
  WorkerSet workers({plan_policy(options).value(), plan_evictions(options).value()}, context());
  workers.follow(false);
  EXPECT_THAT(objects_.calls(), IsEmpty()) << "without leadership nothing is asked for";
  workers.follow(true);
  using Health = WorkerSet::Health;
  EXPECT_TRUE(test::eventually([&] {
    return workers.health() ==
           std::vector{Health{"policy", true, {}}, Health{"evictions", true, {}}};
  }));
}

}  // namespace
}  // namespace tranche::controller::worker_set_test
