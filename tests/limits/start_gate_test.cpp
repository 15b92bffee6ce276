// The messages between the container runtime's hook and the arbiter, over the real socket.

#include "arbiter/hook/start_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "limits/kernel_limits_node.h"

namespace tranche::arbiter::start_gate_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class StartGateTest : public KernelLimitsTest {
 protected:
  struct Hook {
    int socket = -1;
    explicit Hook(const std::filesystem::path& path) {
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      std::strcpy(address.sun_path, path.c_str());
      socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
      EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    }
    Hook(const Hook&) = delete;
    Hook& operator=(const Hook&) = delete;
    ~Hook() { ::close(socket); }
    void say(const std::string& packet) const {
      EXPECT_EQ(::send(socket, packet.data(), packet.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(packet.size()));
    }
    // nullopt: nothing (yet); "": hung up.
    std::optional<std::string> received() const {
      char buffer[kLargestStartPacket];
      const auto n = ::recv(socket, buffer, sizeof(buffer), MSG_DONTWAIT);
      if (n < 0) return std::nullopt;
      return std::string(buffer, static_cast<std::size_t>(n));
    }
  };

  std::vector<MakeExtension> extensions() const override {
    auto all = KernelLimitsTest::extensions();
    all.emplace_back(StartGate::open);
    return all;
  }
  std::filesystem::path socket() const { return tenants() / kStartSocket; }
  StartNotice notice(bool waits, const std::string& preload = "") const {
    return {.pid = ::getpid(), .tenants = {"a"}, .preload = preload, .waits = waits};
  }
  std::string receive(const Hook& hook) {
    while (true) {
      if (auto received = hook.received()) return *received;
      arbiter->round(1ms);
    }
  }
  StartAnswer answer_to(const Hook& hook) {
    const auto answer = decode_start_answer(receive(hook));
    EXPECT_TRUE(answer) << answer.error().message();
    return answer.value_or(StartAnswer{.may_start = false, .reason = "(no answer)"});
  }
};

TEST_F(StartGateTest, ItIsRootsAlone) {
  struct stat status{};
  ASSERT_EQ(::stat(socket().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  arbiter.reset();
  EXPECT_FALSE(std::filesystem::exists(socket())) << "nothing is left behind";
}

TEST_F(StartGateTest, AContainerStartsWhenItIsLimited) {
  promise("a", 100);
  limiter->hang(kGpu);
  const Hook hook(socket());
  hook.say(encode(notice(true)));
  wait_for_calls(1);
  rounds();
  EXPECT_EQ(hook.received(), std::nullopt) << "the driver has not answered";
  limiter->release();
  EXPECT_EQ(answer_to(hook), StartAnswer{});
  EXPECT_THAT(limiter->calls(), ElementsAre(set_to(100)));
  EXPECT_THAT(arbiter->status().findings, IsEmpty());
}

TEST_F(StartGateTest, TwoTenantsHaveTheSumBeforeItStarts) {
  promise("a", 100);
  promise("b", 30);
  const Hook hook(socket());
  auto both = notice(true);
  both.tenants = {"a", "b"};
  hook.say(encode(both));
  EXPECT_TRUE(answer_to(hook).may_start);
  EXPECT_EQ(limiter->calls().back(), set_to(130));
}

TEST_F(StartGateTest, WhileTheDriverRefusesItDoesNotStart) {
  limiter->fail_with({Code::kPermission, "no", "be root"});
  promise("a", 100);
  const Hook hook(socket());
  hook.say(encode(notice(true)));
  wait_for_refusal();
  EXPECT_EQ(hook.received(), std::nullopt) << "it may be better in a moment";
  clock.advance(StartGate::kPatience);
  const auto answer = answer_to(hook);
  EXPECT_FALSE(answer.may_start);
  EXPECT_THAT(answer.reason, HasSubstr("be root"));
  EXPECT_EQ(log.count("a container of tenant a does not start"), 1);
}

TEST_F(StartGateTest, ItStartsWhenTheDriverRecoversInTime) {
  limiter->fail_with({Code::kPermission, "no", "be root"});
  promise("a", 100);
  const Hook hook(socket());
  hook.say(encode(notice(true)));
  wait_for_refusal();
  limiter->recover();
  clock.advance(1s);
  EXPECT_TRUE(answer_to(hook).may_start);
}

TEST_F(StartGateTest, ATenantThatIsNotKnownYetIsWaitedFor) {
  const Hook late(socket());
  late.say(encode(notice(true)));
  rounds();
  EXPECT_EQ(late.received(), std::nullopt);
  promise("a", 100);
  clock.advance(1s);
  EXPECT_TRUE(answer_to(late).may_start);
  const Hook never(socket());
  auto stranger = notice(true);
  stranger.tenants = {"zz"};
  never.say(encode(stranger));
  rounds();
  clock.advance(StartGate::kPatience);
  EXPECT_THAT(answer_to(never).reason, HasSubstr("no tenant zz"));
}

TEST_F(StartGateTest, WhereTheKernelKeepsNothingNobodyWaits) {
  promise("a", 100, kGpu, MemoryEnforcer::kLimiter);
  const Hook hook(socket());
  hook.say(encode(notice(true)));
  EXPECT_TRUE(answer_to(hook).may_start);
  EXPECT_THAT(limiter->calls(), IsEmpty());
}

TEST_F(StartGateTest, AnImagesPreloadFileIsAFindingWhileItsContainerLives) {
  promise("a", 100, kGpu, MemoryEnforcer::kLimiter);
  const Hook hook(socket());
  hook.say(encode(notice(false, "libfoo.so")));
  EXPECT_TRUE(answer_to(hook).may_start);
  EXPECT_THAT(arbiter->status().findings, IsEmpty()) << "kubelet does not tell of it yet";
  clock.advance(StartGate::kUnreported);
  arbiter->round(0ms);
  ASSERT_THAT(arbiter->status().findings, SizeIs(1));
  const auto finding = arbiter->status().findings[0];
  EXPECT_EQ(finding.kind, Finding::Kind::kImagePreload);
  EXPECT_EQ(finding.tenant, "a");
  EXPECT_EQ(finding.pid, ::getpid());
  EXPECT_THAT(finding.cgroup, HasSubstr("kubepods/podx/" + id_of('a')));
  EXPECT_EQ(finding.preload, "libfoo.so");
  EXPECT_EQ(log.count("an /etc/ld.so.preload of its own"), 1);
  clock.advance(1h);
  arbiter->round(0ms);
  EXPECT_THAT(arbiter->status().findings, SizeIs(1));
  // The next arbiter knows it from status.json.
  open();
  EXPECT_THAT(arbiter->status().findings, ElementsAre(finding));
}

TEST_F(StartGateTest, OneOfAContainerThatEndedAtOnceIsToldAllTheSame) {
  promise("a", 100, kGpu, MemoryEnforcer::kLimiter);
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  std::ifstream stat(fmt::format("/proc/{}/stat", child));
  put(fmt::format("/proc/{}/stat", child), std::string(std::istreambuf_iterator(stat), {}));
  put(fmt::format("/proc/{}/mountinfo", child), "30 1 0:98 / / rw - overlay overlay rw\n");
  in_cgroup(child, "/kubepods/podx/" + id_of('b'), "kubepods/podx/" + id_of('b'));
  const Hook hook(socket());
  auto told = notice(false, "libfoo.so");
  told.pid = child;
  hook.say(encode(told));
  EXPECT_TRUE(answer_to(hook).may_start);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  clock.advance(StartGate::kUnreported);
  arbiter->round(0ms);
  EXPECT_THAT(arbiter->status().findings, SizeIs(1));
  clock.advance(StartGate::kStays);
  arbiter->round(0ms);
  EXPECT_THAT(arbiter->status().findings, IsEmpty());
}

TEST_F(StartGateTest, NonsenseIsAnsweredAndHarmsNobodyElse) {
  promise("a", 100);
  for (const std::string& packet : {std::string("hello"), std::string(kLargestStartPacket, '['),
                                    encode(StartNotice{.pid = 1 << 30, .tenants = {"a"}})}) {
    const Hook hook(socket());
    hook.say(packet);
    EXPECT_FALSE(answer_to(hook).may_start) << packet.substr(0, 40);
    EXPECT_EQ(receive(hook), "") << "and it hangs up";
  }
  const Hook too_long(socket());
  too_long.say(std::string(kLargestStartPacket + 1, 'x'));
  EXPECT_EQ(receive(too_long), "");
  limiter->hang(kGpu);
  const Hook twice(socket());
  twice.say(encode(notice(true)));
  twice.say(encode(notice(true)));
  EXPECT_EQ(receive(twice), "") << "who waits has said everything";
  limiter->release();
  const Hook hook(socket());
  hook.say(encode(notice(true)));
  EXPECT_TRUE(answer_to(hook).may_start);
}

TEST_F(StartGateTest, ThoseThatSayNothingAreLetGoOfAndNoMoreThanSoManyAreKept) {
  promise("a", 100, kGpu, MemoryEnforcer::kLimiter);
  std::vector<std::unique_ptr<Hook>> silent;
  for (std::size_t i = 0; i < StartGate::kMostAskers; ++i) {
    silent.push_back(std::make_unique<Hook>(socket()));
    arbiter->round(0ms);
  }
  const Hook one_too_many(socket());
  EXPECT_EQ(receive(one_too_many), "");
  clock.advance(StartGate::kPatience);
  EXPECT_EQ(receive(*silent.front()), "");
  const Hook hook(socket());
  hook.say(encode(notice(true)));
  EXPECT_TRUE(answer_to(hook).may_start);
}

}  // namespace
}  // namespace tranche::arbiter::start_gate_test
