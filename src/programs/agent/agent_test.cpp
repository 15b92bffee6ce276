// The whole loop in one process: an Agent on a thread, its ports faked, its sockets real.

#include "agent/agent.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <mutex>
#include <thread>

#include "agent/holdings/book.h"
#include "mps/plan.h"
#include "mps/ready_file.h"
#include "support/fake_events.h"
#include "support/fake_pod_resources.h"
#include "support/fake_reader.h"
#include "support/log_recorder.h"
#include "support/machines.h"
#include "support/temp_dir.h"
#include "support/wait.h"

namespace tranche::agent::agent_test {
namespace {

using testing::ElementsAre;

class AgentTest : public testing::Test {
 protected:
  AgentTest() : reader_(test::machine_of({test::l20(0), test::l20(1)}), gpu::Topology(2)) {
    EXPECT_EQ(::pipe2(signals_.data(), O_NONBLOCK | O_CLOEXEC), 0);
    EXPECT_TRUE(fs_.make_directories(plugins_dir()));
    options_.kubelet_root = (dir_.path() / "k").string();
    options_.kubelet_socket = options_.kubelet_root + "/device-plugins/kubelet.sock";
    options_.state_dir = (dir_.path() / "s").string();
    options_.labels = config::LabelsMode::kOff;
    options_.machine_interval = std::chrono::milliseconds(5);
    options_.config_file = (dir_.path() / "config.yaml").string();
    write_config(1);
  }
  ~AgentTest() override {
    stop();
    ::close(signals_[0]);
    ::close(signals_[1]);
  }

  std::filesystem::path plugins_dir() const { return dir_.path() / "k" / "device-plugins"; }

  void write_config(int replicas) {
    ASSERT_TRUE(fs_.write_atomic(dir_.path() / "config.yaml",
                                 "version: v1\nsharing:\n  timeSlicing:\n    resources:\n"
                                 "    - name: nvidia.com/gpu\n      replicas: " +
                                     std::to_string(replicas) + "\n"));
  }

  void write_limits(const std::string& limits) {
    ASSERT_TRUE(fs_.write_atomic(dir_.path() / "config.yaml",
                                 "version: v1\nsharing:\n  timeSlicing:\n    resources:\n"
                                 "    - {name: nvidia.com/gpu, replicas: 4}\n"
                                 "tranche: {limits: " +
                                     limits + "}\n"));
  }

  void start() {
    source_.emplace(config::Sources(), options_.config_file, "", clock_);
    auto loaded = source_->read();
    ASSERT_TRUE(loaded) << loaded.error().what;
    agent_ = std::make_unique<Agent>(
        Agent::Ports{.reader = reader_,
                     .events = events_,
                     .clock = clock_,
                     .log = log_.log(),
                     .outside = {.kubelet = pods_,
                                 .holders = holders_,
                                 .book = book_,
                                 .register_plugin =
                                     [this](const kubelet::Registration& request, const PinnedFile&,
                                            const std::stop_token&) {
                                       const std::scoped_lock lock(mutex_);
                                       registered_.push_back(request.resource);
                                       return Result<void>();
                                     },
                                 .tell =
                                     [this](const NodeNotice& notice) {
                                       const std::scoped_lock lock(mutex_);
                                       told_.push_back(notice);
                                     }},
                     .turn = turn_,
                     .report =
                         [this](const ConfigReport& report) {
                           const std::scoped_lock lock(mutex_);
                           reported_.push_back(report);
                         },
                     .more = std::move(more_)},
        Agent::Settings{.options = options_, .xid_policy = gpu::make_xid_policy("", "")}, *source_,
        *std::move(loaded));
    thread_ = std::jthread([this] { result_ = agent_->run(signals_[0]); });
  }

  void signal(int number) {
    signalfd_siginfo info{};
    info.ssi_signo = static_cast<std::uint32_t>(number);
    ASSERT_EQ(::write(signals_[1], &info, sizeof(info)), static_cast<ssize_t>(sizeof(info)));
  }
  void stop() {
    if (!thread_.joinable()) return;
    signal(SIGTERM);
    thread_.join();
  }
  // An ending agent's handover to the one of `turn`; returns the connection to it.
  Descriptor hand_over(const std::vector<process::NamedDescriptor>& held, NodeTurn& turn) {
    EXPECT_TRUE(fs_.make_directories(options_.state_dir));
    const auto socket = std::filesystem::path(options_.state_dir) / kHandoverSocket;
    const auto before = process::Handover::listen(socket, "a/gpu").value();
    std::jthread greets([&] {
      while (!before->has_successor()) before->accept();
    });
    EXPECT_EQ(turn.predecessor.greet(socket, "a/gpu"), process::Predecessor::Greeting::kWait);
    greets.join();
    auto successor = before->give(held);
    EXPECT_TRUE(successor);
    turn.inherited = turn.predecessor.receive();
    return *std::move(successor);
  }
  bool says(std::string_view text, int times = 1) {
    return test::eventually([&] { return log_.count(text) >= times; });
  }
  std::vector<std::string> registered() {
    const std::scoped_lock lock(mutex_);
    return registered_;
  }

  test::TempDir dir_;
  FsRoot fs_;
  test::FakeReader reader_;
  test::FakeEvents events_;
  test::FakePodResources pods_;
  HolderAnswers holders_{pods_, clock_};
  Book book_{clock_};
  SystemClock clock_;
  test::LogRecorder log_;
  config::AgentOptions options_;
  std::array<int, 2> signals_{};
  std::mutex mutex_;
  std::vector<std::string> registered_;
  std::vector<NodeNotice> told_;
  std::vector<ConfigReport> reported_;
  Parts more_;  // after the agent's own
  NodeTurn* turn_ = nullptr;
  std::optional<FileSource> source_;
  std::unique_ptr<Agent> agent_;
  Result<void> result_;
  std::jthread thread_;
};

class TestFollower final : public Follower {
 public:
  struct Seen {
    std::mutex mutex;
    std::vector<std::string> what;
    std::atomic<bool> fails = false;
    std::atomic<bool> is_ready = true;

    void add(std::string text) {
      const std::scoped_lock lock(mutex);
      what.push_back(std::move(text));
    }
    bool has(const std::string& text) {
      const std::scoped_lock lock(mutex);
      return std::ranges::find(what, text) != what.end();
    }
  };
  explicit TestFollower(Seen& seen) : seen_(seen) {}

  Result<void> follow(const Round& round) override {
    if (seen_.fails) return fail(Code::kUnavailable, "the test follower fails");
    std::size_t tranches = 0;
    for (const auto& resource : round.offer->resources) tranches += resource.tranches.size();
    seen_.add(std::to_string(tranches) + " tranches");
    return {};
  }
  void await_hardware(const State&) override { seen_.add("awaits hardware"); }
  void restart(TimePoint) override { seen_.add("restart"); }
  void tick(TimePoint now) override {
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(1);
    seen_.add("tick");
  }
  std::optional<TimePoint> next_tick() const override { return next_; }
  std::string trouble() const override { return seen_.is_ready ? "" : "the test is not ready"; }
  void finish() override { seen_.add("finish"); }

 private:
  Seen& seen_;
  TimePoint next_{};
};

TEST_F(AgentTest, AdvertisesRegistersAndStops) {
  start();
  ASSERT_TRUE(says("registered nvidia.com/gpu"));
  EXPECT_TRUE(says("advertising nvidia.com/gpu: 2 tranches on 2 devices"));
  EXPECT_TRUE(fs_.exists(plugins_dir() / "nvidia-gpu.sock"));
  stop();
  EXPECT_TRUE(result_);
  EXPECT_FALSE(std::filesystem::exists(plugins_dir() / "nvidia-gpu.sock.new"));
}

// Both agents hold kubelet's connection, but only the predecessor reads it.
TEST_F(AgentTest, WhatKubeletAsksTheAgentBeforeIsThatOnesWhileItLives) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const Descriptor kubelet(ends[0]);
  std::vector<process::NamedDescriptor> held;
  held.push_back({"nvidia-gpu.sock", Descriptor(ends[1])});
  NodeTurn turn{.came = true, .lock = nullptr};
  auto before = hand_over(held, turn);
  turn_ = &turn;
  start();
  ASSERT_TRUE(says("registered nvidia.com/gpu"));
  ASSERT_EQ(::write(kubelet.get(), "x", 1), 1);
  write_config(4);
  ASSERT_TRUE(says("advertising nvidia.com/gpu: 8 tranches"));
  EXPECT_THAT(registered(), ElementsAre("nvidia.com/gpu"));
  before.close();
  EXPECT_TRUE(says("the agent before this one has ended"));
  EXPECT_TRUE(says("registered nvidia.com/gpu", 2)) << "nobody answers it now";
  stop();
}

TEST_F(AgentTest, FollowsAChangedConfigurationWithoutANewRegistration) {
  start();
  ASSERT_TRUE(says("registered nvidia.com/gpu"));
  write_config(4);
  EXPECT_TRUE(says("advertising nvidia.com/gpu: 8 tranches on 2 devices (time-slicing), was 2"));
  EXPECT_THAT(registered(), ElementsAre("nvidia.com/gpu"));
}

TEST_F(AgentTest, RefusesABadConfigurationOnceAndKeepsTheOldOne) {
  start();
  ASSERT_TRUE(says("registered nvidia.com/gpu"));
  write_config(-3);
  EXPECT_TRUE(says("the old one stays in force"));
  write_config(3);
  EXPECT_TRUE(says("advertising nvidia.com/gpu: 6 tranches"));
  EXPECT_EQ(log_.count("the old one stays in force"), 1);
}

TEST_F(AgentTest, AnXidMarksItsGpuAndSighupForgets) {
  start();
  ASSERT_TRUE(says("registered nvidia.com/gpu"));
  ASSERT_TRUE(test::eventually([&] { return events_.waits() > 0; }));
  events_.post({.xid = 79, .gpu = gpu::GpuUuid{test::gpu_uuid(1)}});
  ASSERT_TRUE(says(test::gpu_uuid(1) + " is unhealthy"));
  EXPECT_EQ(log_.count(test::gpu_uuid(0) + " is unhealthy"), 0);
  signal(SIGHUP);
  EXPECT_TRUE(says(test::gpu_uuid(1) + " is healthy again"));
  EXPECT_TRUE(says("registered nvidia.com/gpu", 2));
}

TEST_F(AgentTest, ADriverThatVanishesMakesGpusUnhealthyUntilItReturns) {
  start();
  ASSERT_TRUE(says("registered nvidia.com/gpu"));
  reader_.fail_with({Code::kUnavailable, "driver not loaded"});
  ASSERT_TRUE(says(test::gpu_uuid(0) + " is unhealthy"));
  reader_.recover();
  EXPECT_TRUE(says("answers again"));
  EXPECT_TRUE(says(test::gpu_uuid(0) + " is healthy again"));
}

TEST_F(AgentTest, OneLostGpuLeavesTheOtherAlone) {
  start();
  ASSERT_TRUE(says("registered nvidia.com/gpu"));
  reader_.lose(test::gpu_uuid(0));
  ASSERT_TRUE(says(test::gpu_uuid(0) + " is unhealthy"));
  EXPECT_EQ(log_.count(test::gpu_uuid(1) + " is unhealthy"), 0);
}

TEST_F(AgentTest, AnMpsDaemonThatIsGoneIsToldOnceEachTime) {
  options_.mps_dir = (dir_.path() / "mps").string();
  ASSERT_TRUE(fs_.write_atomic(
      dir_.path() / "config.yaml",
      "version: v1\nflags: {mpsRoot: /run/nvidia/mps}\nsharing:\n  mps:\n    resources:\n"
      "    - {name: nvidia.com/gpu, replicas: 2}\n"));
  const auto started = mps::paths_of(options_.mps_dir, {"nvidia.com/gpu"}).started;
  ASSERT_TRUE(fs_.make_directories(started.parent_path()));
  auto mark = std::make_optional(mps::ReadyFile::put(started).value());
  const auto told = [&] {
    const std::scoped_lock lock(mutex_);
    return std::ranges::count(told_, "MpsDaemonGone", &NodeNotice::reason);
  };
  start();
  ASSERT_TRUE(says("registered nvidia.com/gpu"));
  mark.reset();
  ASSERT_TRUE(says(test::gpu_uuid(0) + " is unhealthy"));
  ASSERT_TRUE(test::eventually([&] { return told() == 1; }));
  reader_.lose(test::gpu_uuid(1));
  signal(SIGHUP);
  ASSERT_TRUE(says("registered nvidia.com/gpu", 2));
  EXPECT_EQ(told(), 1);
  mark.emplace(mps::ReadyFile::put(started).value());
  ASSERT_TRUE(says(test::gpu_uuid(0) + " is healthy again"));
  mark.reset();
  EXPECT_TRUE(test::eventually([&] { return told() == 2; }));
}

TEST_F(AgentTest, ServesAnewWhenKubeletWasRestarted) {
  start();
  ASSERT_TRUE(says("registered nvidia.com/gpu"));
  ASSERT_TRUE(fs_.remove(plugins_dir() / "nvidia-gpu.sock"));
  ASSERT_TRUE(fs_.write_atomic(options_.kubelet_socket, ""));
  EXPECT_TRUE(says("kubelet was restarted"));
  EXPECT_TRUE(test::eventually([&] { return registered().size() >= 2; }));
  EXPECT_TRUE(fs_.exists(plugins_dir() / "nvidia-gpu.sock"));
}

TEST_F(AgentTest, WithoutADriverItEndsOrWaitsAsConfigured) {
  reader_.fail_with({Code::kUnavailable, "driver not loaded"});
  start();
  thread_.join();
  ASSERT_FALSE(result_);
  EXPECT_EQ(result_.error().what,
            "error getting plugins: unable to create plugins: failed to construct resource "
            "managers: driver not loaded");

  ASSERT_TRUE(fs_.write_atomic(dir_.path() / "config.yaml",
                               "version: v1\nflags:\n  failOnInitError: false\n"));
  start();
  ASSERT_TRUE(says("waiting for it"));
  reader_.recover();
  EXPECT_TRUE(says("registered nvidia.com/gpu"));
}

TEST_F(AgentTest, AStateFolderThatCannotBeUsedIsAWarning) {
  ASSERT_TRUE(fs_.write_atomic(options_.state_dir, "a file"));
  start();
  EXPECT_TRUE(says("registered nvidia.com/gpu"));
  EXPECT_EQ(log_.count("grants are not stored"), 1);
}

TEST_F(AgentTest, WhatCannotBeLimitedIsNotOfferedAndTheAgentIsNotReady) {
  options_.limit_library = (dir_.path() / "library").string();
  write_limits("{enforcement: strict}");
  start();
  ASSERT_TRUE(says("not advertising nvidia.com/gpu: its limits cannot be kept: read " +
                   options_.limit_library));
  EXPECT_TRUE(test::eventually([&] {
    const auto status = read_status(options_.state_dir, std::chrono::hours(1));
    return status && !status->ready && status->text.contains("limits cannot be kept");
  }));
  EXPECT_TRUE(registered().empty());
  EXPECT_TRUE(test::eventually([&] {
    const std::scoped_lock lock(mutex_);
    return told_.size() == 1 && told_[0].warning && told_[0].reason == "ResourceWithheld" &&
           told_[0].note.starts_with("not advertising nvidia.com/gpu: its limits cannot be kept");
  }));
  ASSERT_TRUE(fs_.write_atomic(options_.limit_library, "library"));
  EXPECT_TRUE(says("registered nvidia.com/gpu"));
  EXPECT_TRUE(says("limits strict: memory equal, compute equal"));
}

TEST_F(AgentTest, ALayoutThatSingleCannotOfferIsWithheldAndEveryFollowerHearsOfIt) {
  const auto fits = test::machine_of({test::a100_40gb(0), test::a100_40gb(1)});
  const auto does_not = test::machine_of({test::a100_40gb(0).mig({"1g.5gb"}), test::a100_40gb(1)});
  reader_.set_machine(does_not);
  ASSERT_TRUE(fs_.write_atomic(dir_.path() / "config.yaml", "flags: {migStrategy: single}\n"));
  TestFollower::Seen seen;
  more_.followers.push_back(std::make_unique<TestFollower>(seen));
  start();
  const std::string why =
      "not advertising nvidia.com/gpu: migStrategy single: all devices on the node must be "
      "configured with the same migEnabled";
  ASSERT_TRUE(says(why));
  EXPECT_TRUE(test::eventually([&] { return seen.has("0 tranches"); }));
  const auto waits = [&] {
    const auto status = read_status(options_.state_dir, std::chrono::hours(1));
    return status && !status->ready && status->text.starts_with(why);
  };
  EXPECT_TRUE(test::eventually(waits));
  const auto told = [&](std::size_t times) {
    const std::scoped_lock lock(mutex_);
    return told_.size() == times && told_.back().reason == "ResourceWithheld" &&
           told_.back().note.starts_with(why);
  };
  EXPECT_TRUE(test::eventually([&] { return told(1); }));
  EXPECT_TRUE(test::eventually([&] {
    const std::scoped_lock lock(mutex_);
    return !reported_.empty() && reported_.back().applied &&
           reported_.back().in_part.starts_with(why);
  }));
  reader_.set_machine(fits);
  EXPECT_TRUE(says("registered nvidia.com/gpu"));
  EXPECT_TRUE(test::eventually([&] {
    const std::scoped_lock lock(mutex_);
    return reported_.back().applied && reported_.back().in_part.empty();
  }));
  // Nothing that is gone is handed out.
  reader_.set_machine(does_not);
  EXPECT_TRUE(says("no longer advertising nvidia.com/gpu"));
  EXPECT_TRUE(test::eventually(waits));
  EXPECT_TRUE(test::eventually([&] { return told(2); }));
  stop();  // the follower refers to `seen`
}

TEST_F(AgentTest, WhatKeepsMemoryInsteadOfTheKernelIsSaidOnce) {
  options_.limit_library = (dir_.path() / "library").string();
  ASSERT_TRUE(fs_.write_atomic(options_.limit_library, "library"));
  write_limits("{enforcement: strict, kernelLimits: true}");
  start();
  const std::string line =
      "memory of nvidia.com/gpu is kept by the limiter, not by kernel limits: the node's control "
      "groups are not of version 2 alone";
  ASSERT_TRUE(says(line));
  ASSERT_TRUE(says("registered nvidia.com/gpu"));
  const auto notices = [&] {
    const std::scoped_lock lock(mutex_);
    return std::ranges::count_if(told_, [&](const NodeNotice& notice) {
      return notice.warning && notice.reason == "NoKernelLimits" && notice.note.starts_with(line);
    });
  };
  EXPECT_TRUE(test::eventually([&] { return notices() == 1; }));
  write_limits("{enforcement: strict, kernelLimits: true, memory: 20%}");
  ASSERT_TRUE(says("limits strict: memory 20%"));
  EXPECT_EQ(log_.count(line), 1);
  EXPECT_EQ(notices(), 1);
}

TEST_F(AgentTest, WhatIsToHaveTheRuntimesHookIsOnlyOfferedWithIt) {
  options_.limit_library = (dir_.path() / "library").string();
  options_.cdi_root = (dir_.path() / "cdi").string();
  ASSERT_TRUE(fs_.write_atomic(options_.limit_library, "library"));
  write_limits("{enforcement: strict, runtimeHook: true}");
  start();
  EXPECT_TRUE(says("not advertising nvidia.com/gpu: the runtime's hook cannot be given: "));
  EXPECT_TRUE(registered().empty());
  ASSERT_TRUE(fs_.write_atomic(dir_.path() / "tranche-limit-hook", "program"));
  EXPECT_TRUE(says("registered nvidia.com/gpu"));
  EXPECT_TRUE(fs_.exists(dir_.path() / "cdi/tranche.dev-limits.json"));
}

TEST_F(AgentTest, LimitsWithoutAStateFolderAreNotPromised) {
  options_.limit_library = (dir_.path() / "library").string();
  ASSERT_TRUE(fs_.write_atomic(options_.limit_library, "library"));
  ASSERT_TRUE(fs_.write_atomic(options_.state_dir, "a file"));
  write_limits("{enforcement: account}");
  start();
  EXPECT_TRUE(says("not advertising nvidia.com/gpu: its limits cannot be kept: mkdir " +
                   (dir_.path() / "s").string()));
  EXPECT_TRUE(says("mount a writable folder at --state-dir"));
  write_limits("{enforcement: off}");
  EXPECT_TRUE(says("registered nvidia.com/gpu"));
}

TEST_F(AgentTest, WhereNobodyEvictsItSaysSo) {
  options_.limit_library = (dir_.path() / "library").string();
  ASSERT_TRUE(fs_.write_atomic(options_.limit_library, "library"));
  write_limits("{enforcement: strict, unregistered: evict}");
  start();
  EXPECT_TRUE(says(
      "nvidia.com/gpu: the configuration says unregistered: evict, and no controller that evicts "
      "is known here, so such containers are reported and not evicted; set limits.evict=true"));
  write_limits("{enforcement: strict}");
  EXPECT_TRUE(test::eventually([&] { return log_.count("the configuration has changed") == 1; }));
  EXPECT_EQ(log_.count("no controller that evicts"), 1);
}

TEST_F(AgentTest, AFollowerNeedsNoChangeElsewhere) {
  TestFollower::Seen seen;
  more_.followers.push_back(std::make_unique<TestFollower>(seen));
  reader_.fail_with({Code::kUnavailable, "driver not loaded"});
  ASSERT_TRUE(fs_.write_atomic(dir_.path() / "config.yaml",
                               "version: v1\nflags:\n  failOnInitError: false\n"));
  start();
  ASSERT_TRUE(test::eventually([&] { return seen.has("awaits hardware"); }));
  reader_.recover();
  ASSERT_TRUE(test::eventually([&] { return seen.has("2 tranches"); }));
  EXPECT_TRUE(test::eventually([&] { return seen.has("tick"); }));
  write_config(3);
  EXPECT_TRUE(test::eventually([&] { return seen.has("6 tranches"); }));
  signal(SIGHUP);
  EXPECT_TRUE(test::eventually([&] { return seen.has("restart"); }));

  seen.is_ready = false;
  EXPECT_TRUE(test::eventually([&] {
    const auto status = read_status(options_.state_dir, std::chrono::hours(1));
    return status && !status->ready && status->text == "the test is not ready";
  }));
  stop();
  EXPECT_TRUE(seen.has("finish"));
}

// A room of the test: its input looks for a file, its stage withholds everything if there is one,
// and its follower, like all others, reads the result.
struct ClosedStanding {
  bool closed = false;
  bool operator==(const ClosedStanding&) const = default;
};

class ClosedInput final : public Input {
 public:
  explicit ClosedInput(std::filesystem::path file) : file_(std::move(file)) {}
  void look(const offer::Offer& /*wished*/, State& state) override {
    state.set(ClosedStanding{.closed = FsRoot().exists(file_)});
  }

 private:
  std::filesystem::path file_;
};

offer::Offer withhold_while_closed(const State& state, offer::Offer offer) {
  for (auto& resource : offer.resources) {
    for (auto& tranche : resource.tranches) {
      if (state.get<ClosedStanding>().closed) tranche.withheld = true;
    }
  }
  return offer;
}

class ClosedFollower final : public Follower {
 public:
  explicit ClosedFollower(TestFollower::Seen& seen) : seen_(seen) {}
  Result<void> follow(const Round& round) override {
    const auto& tranche = round.offer->resources.at(0).tranches.at(0);
    EXPECT_EQ(tranche.withheld, round.state.get<ClosedStanding>().closed);
    seen_.add(tranche.withheld ? "closed" : "open");
    return {};
  }

 private:
  TestFollower::Seen& seen_;
};

TEST_F(AgentTest, ARoomWithAnInputAStageAndAFollowerNeedsNoChangeElsewhere) {
  const auto file = dir_.path() / "closed";
  TestFollower::Seen seen;
  more_.inputs.push_back(std::make_unique<ClosedInput>(file));
  more_.stages = {withhold_while_closed};
  more_.followers.push_back(std::make_unique<ClosedFollower>(seen));
  start();
  ASSERT_TRUE(test::eventually([&] { return seen.has("open"); }));
  ASSERT_TRUE(fs_.write_atomic(file, ""));
  EXPECT_TRUE(test::eventually([&] { return seen.has("closed"); }));
  stop();  // it refers to `seen`
}

TEST_F(AgentTest, ARoundThatAFollowerCouldNotFollowIsTriedAgain) {
  TestFollower::Seen seen;
  more_.followers.push_back(std::make_unique<TestFollower>(seen));
  start();
  ASSERT_TRUE(test::eventually([&] { return seen.has("2 tranches"); }));
  seen.fails = true;
  write_config(2);
  ASSERT_TRUE(says("the test follower fails; what was advertised before stays as it is"));
  seen.fails = false;
  EXPECT_TRUE(test::eventually([&] { return seen.has("4 tranches"); }));
  EXPECT_EQ(log_.count("the test follower fails"), 1);
  EXPECT_EQ(log_.count("advertising nvidia.com/gpu: 4 tranches"), 1);
  stop();  // the follower refers to `seen`
}

}  // namespace
}  // namespace tranche::agent::agent_test
