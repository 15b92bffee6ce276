#include "agent/plugins/registrar.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "support/log_recorder.h"
#include "support/wait.h"

namespace tranche::agent::registrar_test {
namespace {

constexpr Backoff kQuick{std::chrono::milliseconds(1), std::chrono::milliseconds(4)};

// A kubelet that fails several times before it accepts.
class FakeKubelet {
 public:
  explicit FakeKubelet(int failures) : failures_(failures) {}

  Result<void> answer(const Registrar::Request& request) {
    const std::scoped_lock lock(mutex_);
    ++attempts_;
    if (failures_-- > 0) return fail(Code::kUnavailable, "kubelet is away");
    accepted_.push_back(request.resource);
    return {};
  }
  Registrar::Attempt attempt() {
    return [this](const Registrar::Request& request, const std::stop_token&) {
      return answer(request);
    };
  }
  std::vector<std::string> accepted() const {
    const std::scoped_lock lock(mutex_);
    return accepted_;
  }
  int attempts() const {
    const std::scoped_lock lock(mutex_);
    return attempts_;
  }

 private:
  mutable std::mutex mutex_;
  int failures_;
  int attempts_ = 0;
  std::vector<std::string> accepted_;
};

TEST(Registrar, RegistersAtOnce) {
  FakeKubelet kubelet(0);
  test::LogRecorder log;
  Registrar registrar(kubelet.attempt(), log.log(), kQuick);
  registrar.request({"nvidia.com/gpu", "nvidia-gpu.sock"});
  ASSERT_TRUE(test::eventually([&] { return kubelet.accepted().size() == 1; }));
  EXPECT_TRUE(test::eventually([&] { return log.count("registered nvidia.com/gpu") == 1; }));
}

TEST(Registrar, TriesUntilItWorksAndComplainsOnce) {
  FakeKubelet kubelet(7);
  const test::LogRecorder log;
  Registrar registrar(kubelet.attempt(), log.log(), kQuick);
  registrar.request({"nvidia.com/gpu", "nvidia-gpu.sock"});
  ASSERT_TRUE(test::eventually([&] { return kubelet.accepted().size() == 1; }));
  EXPECT_EQ(kubelet.attempts(), 8);
  EXPECT_EQ(log.count("kubelet is away"), 1);
}

TEST(Registrar, AFailingResourceDoesNotHoldUpOthers) {
  std::atomic<int> good{0};
  const test::LogRecorder log;
  Registrar registrar(
      [&](const Registrar::Request& request, const std::stop_token&) -> Result<void> {
        if (request.resource == "bad") return fail(Code::kFailedPrecondition, "refused");
        ++good;
        return {};
      },
      log.log(), kQuick);
  registrar.request({"bad", "bad.sock"});
  registrar.request({"good", "good.sock"});
  EXPECT_TRUE(test::eventually([&] { return good == 1; }));
}

TEST(Registrar, ForgetsWhatIsNoLongerAdvertised) {
  FakeKubelet kubelet(1'000'000);
  const test::LogRecorder log;
  Registrar registrar(kubelet.attempt(), log.log(), kQuick);
  registrar.request({"nvidia.com/gpu", "nvidia-gpu.sock"});
  ASSERT_TRUE(test::eventually([&] { return kubelet.attempts() > 2; }));
  registrar.forget("nvidia.com/gpu");
  registrar.request({"other", "other.sock"});
  // From here on only "other" is tried. Its attempts show that the thread lives.
  const int before = kubelet.attempts();
  EXPECT_TRUE(test::eventually([&] { return kubelet.attempts() > before + 3; }));
}

TEST(Registrar, StopsWhileItWaits) {
  FakeKubelet kubelet(1'000'000);
  const test::LogRecorder log;
  {
    Registrar registrar(kubelet.attempt(), log.log(),
                        {std::chrono::hours(1), std::chrono::hours(1)});
    registrar.request({"nvidia.com/gpu", "nvidia-gpu.sock"});
    ASSERT_TRUE(test::eventually([&] { return kubelet.attempts() == 1; }));
  }
  EXPECT_EQ(kubelet.attempts(), 1);
}

}  // namespace
}  // namespace tranche::agent::registrar_test
