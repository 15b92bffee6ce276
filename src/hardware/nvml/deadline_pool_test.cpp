#include "nvml/deadline_pool.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "support/wait.h"

namespace tranche::nvml::deadline_pool_test {
namespace {

using namespace std::chrono_literals;

// A call that returns when the test says so.
class Gate {
 public:
  void open() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    ++inside_;
    changed_.wait(lock, [&] { return open_; });
    --inside_;
  }
  int inside() {
    const std::scoped_lock lock(mutex_);
    return inside_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int inside_ = 0;
};

// The deadline is so long that even on a busy machine a working task is not mistaken for a hanging
// one.
constexpr DeadlinePool::Options kQuick = {.deadline = 1000ms, .stall = 10ms};

DeadlinePool::Task task(std::string key, std::function<void(Progress&)> work) {
  return {.key = std::move(key), .work = std::move(work)};
}

DeadlinePool::Task hanging(const std::string& key, const std::shared_ptr<Gate>& gate) {
  return task(key, [gate](Progress& progress) {
    progress.enter("nvmlHang");
    gate->pass();
  });
}

TEST(DeadlinePool, RunsEverythingInOrderOnOneThread) {
  DeadlinePool pool({.deadline = 60s, .stall = 60s});
  auto order = std::make_shared<std::vector<int>>();
  auto threads = std::make_shared<std::vector<std::thread::id>>();
  std::vector<DeadlinePool::Task> tasks;
  for (int i = 0; i < 16; ++i) {
    tasks.push_back(task(std::to_string(i), [=](Progress&) {
      order->push_back(i);
      threads->push_back(std::this_thread::get_id());
    }));
  }
  const auto outcomes = pool.run(std::move(tasks));
  ASSERT_EQ(outcomes.size(), 16U);
  for (int i = 0; i < 16; ++i) {
    EXPECT_TRUE(outcomes[static_cast<std::size_t>(i)].finished);
    EXPECT_EQ((*order)[static_cast<std::size_t>(i)], i);
    EXPECT_EQ((*threads)[static_cast<std::size_t>(i)], threads->front());
  }
  EXPECT_EQ(pool.stuck(), 0U);
}

TEST(DeadlinePool, NothingToDo) {
  DeadlinePool pool(kQuick);
  EXPECT_TRUE(pool.run(std::vector<DeadlinePool::Task>()).empty());
}

TEST(DeadlinePool, AHangCostsItsOwnTaskOnly) {
  DeadlinePool pool(kQuick);
  const auto gate = std::make_shared<Gate>();
  std::vector<DeadlinePool::Task> tasks;
  tasks.push_back(task("a", [](Progress&) {}));
  tasks.push_back(hanging("b", gate));
  tasks.push_back(task("c", [](Progress&) {}));
  const auto outcomes = pool.run(std::move(tasks));
  EXPECT_TRUE(outcomes[0].finished);
  EXPECT_FALSE(outcomes[1].finished);
  EXPECT_EQ(outcomes[1].hung_in, "nvmlHang");
  EXPECT_TRUE(outcomes[2].finished);
  EXPECT_EQ(pool.stuck(), 1U);
  gate->open();
  EXPECT_TRUE(test::eventually([&] { return pool.stuck() == 0; }));
}

TEST(DeadlinePool, AHungKeyIsNotStartedAgainUntilItReturned) {
  DeadlinePool pool(kQuick);
  const auto gate = std::make_shared<Gate>();
  EXPECT_FALSE(pool.run(hanging("gpu 0", gate)).finished);
  auto ran = std::make_shared<std::atomic<int>>(0);
  const auto again = pool.run(task("gpu 0", [ran](Progress&) { ++*ran; }));
  EXPECT_FALSE(again.finished);
  EXPECT_EQ(again.hung_in, "nvmlHang");
  EXPECT_EQ(ran->load(), 0);
  EXPECT_TRUE(pool.run(task("gpu 1", [ran](Progress&) { ++*ran; })).finished);
  EXPECT_EQ(ran->load(), 1);
  gate->open();
  ASSERT_TRUE(test::eventually([&] { return pool.stuck() == 0; }));
  EXPECT_TRUE(pool.run(task("gpu 0", [ran](Progress&) { ++*ran; })).finished);
  EXPECT_EQ(ran->load(), 2);
}

TEST(DeadlinePool, SeveralHangsAtOnce) {
  DeadlinePool pool(kQuick);
  const auto gate = std::make_shared<Gate>();
  std::vector<DeadlinePool::Task> tasks;
  for (int i = 0; i < 8; ++i) tasks.push_back(hanging(std::to_string(i), gate));
  tasks.push_back(task("well", [](Progress&) {}));
  const auto outcomes = pool.run(std::move(tasks));
  for (std::size_t i = 0; i < 8; ++i) EXPECT_FALSE(outcomes[i].finished) << i;
  EXPECT_TRUE(outcomes[8].finished);
  gate->open();
  EXPECT_TRUE(test::eventually([&] { return pool.stuck() == 0; }));
}

TEST(DeadlinePool, ManySlowCallsAreNoHang) {
  // The task takes longer than one deadline in all, but each call much less.
  DeadlinePool pool({.deadline = 1000ms, .stall = 100ms});
  const auto outcome = pool.run(task("slow", [](Progress& progress) {
    for (int i = 0; i < 6; ++i) {
      progress.enter("nvmlSlow");
      std::this_thread::sleep_for(200ms);
    }
  }));
  EXPECT_TRUE(outcome.finished);
}

TEST(DeadlinePool, ATaskThatMovesForEverIsGivenUpToo) {
  DeadlinePool pool(kQuick);
  auto stop = std::make_shared<std::atomic<bool>>(false);
  const auto outcome = pool.run(task("endless", [stop](Progress& progress) {
    while (!*stop) {
      progress.enter("nvmlSlow");
      std::this_thread::sleep_for(1ms);
    }
  }));
  EXPECT_FALSE(outcome.finished);
  EXPECT_EQ(outcome.hung_in, "nvmlSlow");
  *stop = true;
  EXPECT_TRUE(test::eventually([&] { return pool.stuck() == 0; }));
}

TEST(DeadlinePool, ThreadsAreBounded) {
  DeadlinePool pool({.deadline = 1000ms, .stall = 1ms});
  const auto gate = std::make_shared<Gate>();
  std::vector<DeadlinePool::Task> tasks;
  for (std::size_t i = 0; i < DeadlinePool::kMaxThreads + 20; ++i) {
    tasks.push_back(hanging(std::to_string(i), gate));
  }
  const auto outcomes = pool.run(std::move(tasks));
  for (const auto& outcome : outcomes) EXPECT_FALSE(outcome.finished);
  EXPECT_LE(gate->inside(), static_cast<int>(DeadlinePool::kMaxThreads));
  // When every thread is stuck, a new task does not wait for ever.
  EXPECT_FALSE(pool.run(task("later", [](Progress&) {})).finished);
  gate->open();
  ASSERT_TRUE(test::eventually([&] { return pool.stuck() == 0; }));
  EXPECT_TRUE(pool.run(task("later", [](Progress&) {})).finished);
}

TEST(DeadlinePool, AStuckTaskOutlivesThePoolAndWhatItTouchesLivesWithIt) {
  const auto gate = std::make_shared<Gate>();
  std::weak_ptr<int> watched;
  {
    auto touched = std::make_shared<int>(0);
    watched = touched;
    DeadlinePool pool(kQuick);
    EXPECT_FALSE(pool.run(task("gpu 0",
                               [gate, touched](Progress& progress) {
                                 progress.enter("nvmlHang");
                                 gate->pass();
                                 *touched = 1;
                               }))
                     .finished);
  }
  EXPECT_FALSE(watched.expired());
  gate->open();
  EXPECT_TRUE(test::eventually([&] { return watched.expired(); }));
}

TEST(DeadlinePool, SeveralCallersAtOnce) {
  DeadlinePool pool({.deadline = 30s, .stall = 1ms});
  auto done = std::make_shared<std::atomic<int>>(0);
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 4; ++caller) {
      callers.emplace_back([&pool, done, caller] {
        for (int round = 0; round < 50; ++round) {
          std::vector<DeadlinePool::Task> tasks;
          for (int i = 0; i < 4; ++i) {
            tasks.push_back(task(std::to_string(caller * 4 + i), [done](Progress&) { ++*done; }));
          }
          for (const auto& outcome : pool.run(std::move(tasks))) EXPECT_TRUE(outcome.finished);
        }
      });
    }
  }
  EXPECT_EQ(done->load(), 4 * 50 * 4);
}

}  // namespace
}  // namespace tranche::nvml::deadline_pool_test
