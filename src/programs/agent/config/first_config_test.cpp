#include "agent/config/first_config.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <mutex>
#include <thread>

#include "support/log_recorder.h"
#include "support/temp_dir.h"
#include "support/wait.h"

namespace tranche::agent::first_config_test {
namespace {

class Source final : public ConfigSource {
 public:
  Result<config::Loaded> read() override {
    const std::scoped_lock lock(mutex_);
    if (error_) return std::unexpected(*error_);
    return config::Loaded{.config = {}, .warnings = {}, .json = "now"};
  }
  std::string origin() const override { return "x"; }
  ConfigStanding standing() const override { return {}; }
  Result<config::Loaded> last_good() override {
    if (!kept) return fail(Code::kNotFound, "nothing was kept");
    return config::Loaded{.config = {}, .warnings = {}, .json = "kept"};
  }
  bool waits() const override {
    const std::scoped_lock lock(mutex_);
    return waits_;
  }
  void set(std::optional<Error> error, bool waits = false) {
    const std::scoped_lock lock(mutex_);
    error_ = std::move(error);
    waits_ = waits;
  }
  bool kept = false;

 private:
  mutable std::mutex mutex_;
  std::optional<Error> error_;
  bool waits_ = false;
};

class FirstConfigTest : public testing::Test {
 protected:
  FirstConfigTest() { EXPECT_EQ(::pipe2(signals_.data(), O_NONBLOCK | O_CLOEXEC), 0); }
  ~FirstConfigTest() override {
    stop();
    ::close(signals_[0]);
    ::close(signals_[1]);
  }
  void start() {
    thread_ = std::jthread([this] {
      result_ = first_config({.source = source_,
                              .notifier = notifier_,
                              .report = [this](const ConfigReport& report) { report_ = report; },
                              .status = status_,
                              .log = log_.log()},
                             signals_[0]);
    });
  }
  void stop() {
    if (!thread_.joinable()) return;
    signalfd_siginfo info{};
    info.ssi_signo = SIGTERM;
    ASSERT_EQ(::write(signals_[1], &info, sizeof(info)), static_cast<ssize_t>(sizeof(info)));
    thread_.join();
  }
  // The chosen configuration; "none" after a stop.
  std::string outcome() {
    thread_.join();
    return result_ && *result_ ? (*result_)->json : "none";
  }
  bool says(std::string_view text) {
    return test::eventually([&] { return log_.count(text) == 1; });
  }

  test::TempDir dir_;
  SystemClock clock_;
  test::LogRecorder log_;
  process::ChangeNotifier notifier_;
  Source source_;
  AgentStatus status_{dir_.path(), clock_, log_.log()};
  std::array<int, 2> signals_{};
  ConfigReport report_;
  Result<std::optional<config::Loaded>> result_;
  std::jthread thread_;
};

TEST_F(FirstConfigTest, WaitsForWhatIsNotKnownYetAndSaysSoOnce) {
  source_.kept = true;
  source_.set(Error{Code::kUnavailable, "the API server has not answered yet"});
  start();
  ASSERT_TRUE(says("has not answered yet; no GPU is advertised until there is a configuration"));
  notifier_.notify();
  // The status is written after the message.
  EXPECT_TRUE(test::eventually([&] {
    const auto status = read_status(dir_.path(), std::chrono::hours(1));
    return status && !status->ready;
  }));
  source_.set(std::nullopt);
  notifier_.notify();
  EXPECT_EQ(outcome(), "now");
  EXPECT_EQ(report_, ConfigReport()) << "what is not known is no refusal";
}

TEST_F(FirstConfigTest, SaysNothingWhileTheAnswerMayStillCome) {
  const auto is_waiting = [&] {
    return test::eventually([&] {
      const auto status = read_status(dir_.path(), std::chrono::hours(1));
      return status && !status->ready;
    });
  };
  source_.set(Error{Code::kUnavailable, "the API server has not answered yet"}, true);
  start();
  ASSERT_TRUE(is_waiting());
  EXPECT_EQ(log_.count("has not answered yet"), 0);
  source_.set(Error{Code::kUnavailable, "the API server has not answered yet"});
  notifier_.notify();
  EXPECT_TRUE(says("has not answered yet; no GPU is advertised until there is a configuration"));
  source_.set(std::nullopt);
  notifier_.notify();
  EXPECT_EQ(outcome(), "now");
}

TEST_F(FirstConfigTest, EndsWhenToldTo) {
  source_.set(Error{Code::kUnavailable, "away"});
  start();
  ASSERT_TRUE(says("away"));
  stop();
  EXPECT_TRUE(result_ && !*result_);
}

TEST_F(FirstConfigTest, ARefusedOneLeavesTheLastGoodInForce) {
  source_.kept = true;
  source_.set(Error{Code::kNotFound, "no key x"});
  start();
  EXPECT_EQ(outcome(), "kept");
  EXPECT_EQ(report_, (ConfigReport{.applied = false, .message = "no key x"}));
  EXPECT_TRUE(says("no key x; what was in force last stays in force (x)"));
}

TEST_F(FirstConfigTest, WithNothingKeptARefusedOneIsWaitedOut) {
  source_.set(Error{Code::kNotFound, "no key x"});
  start();
  ASSERT_TRUE(says("no key x; no GPU is advertised"));
  source_.set(std::nullopt);
  notifier_.notify();
  EXPECT_EQ(outcome(), "now");
}

TEST_F(FirstConfigTest, AnAgentThatWouldWaitForItCannotTakeOverAndSaysOnceWhy) {
  SaidOnce said;
  const auto has = [&] { return has_first_config(source_, said, log_.log()).has_value(); };
  EXPECT_TRUE(has());
  source_.set(Error{Code::kUnavailable, "the API server has not answered yet"}, true);
  EXPECT_FALSE(has());
  EXPECT_EQ(log_.count("not prepared"), 0) << "it may answer in a moment";
  source_.set(Error{Code::kUnavailable, "connection refused"});
  EXPECT_FALSE(has());
  EXPECT_FALSE(has());
  EXPECT_EQ(log_.count("not prepared to take over: connection refused"), 1);
  source_.set(Error{Code::kNotFound, "no key x"});
  EXPECT_FALSE(has());
  source_.kept = true;
  EXPECT_TRUE(has()) << "what was in force last would be";
  source_.set(Error{Code::kAlreadyExists, "the GPU operator serves"});
  EXPECT_FALSE(has());
}

TEST_F(FirstConfigTest, WhereSomeoneElseServesNothingIsAdvertised) {
  source_.kept = true;
  source_.set(Error{Code::kAlreadyExists, "the GPU operator serves"});
  start();
  ASSERT_TRUE(says("the GPU operator serves; no GPU is advertised"));
  source_.set(std::nullopt);
  notifier_.notify();
  EXPECT_EQ(outcome(), "now");
}

}  // namespace
}  // namespace tranche::agent::first_config_test
