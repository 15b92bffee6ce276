#include "process/handover.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <thread>

#include "support/temp_dir.h"

namespace tranche::process::handover_test {
namespace {

using Greeting = Predecessor::Greeting;

class HandoverTest : public testing::Test {
 protected:
  HandoverTest() { open("ns/agent"); }

  void open(const std::string& who) { serving_ = Handover::listen(socket_, who).value(); }
  // Greets while the one that serves accepts.
  Greeting greet(Predecessor& next, const std::string& who = "ns/agent") {
    const std::jthread other([&] {
      pollfd state{.fd = serving_->fd(), .events = POLLIN, .revents = 0};
      ::poll(&state, 1, -1);
      serving_->accept();
    });
    return next.greet(socket_, who);
  }
  // A pipe's reading end, with `text` in it.
  static Descriptor pipe_with(const std::string& text) {
    int ends[2] = {};
    EXPECT_EQ(::pipe(ends), 0);
    EXPECT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::close(ends[1]);
    return Descriptor(ends[0]);
  }
  static std::string text_of(const Descriptor& pipe) {
    char text[16] = {};
    const auto n = ::read(pipe.get(), text, sizeof text);
    return {text, n > 0 ? static_cast<std::size_t>(n) : 0};
  }
  std::vector<NamedDescriptor> held() {
    std::vector<NamedDescriptor> all;
    all.push_back({"lock", pipe_with("one")});
    all.push_back({"nvidia-gpu.sock", pipe_with("two")});
    return all;
  }

  test::TempDir dir_;
  std::filesystem::path socket_ = dir_.path() / "handover.sock";
  std::unique_ptr<Handover> serving_;
};

TEST_F(HandoverTest, TheNextOneIsGivenWhatIsHeld) {
  Predecessor next;
  ASSERT_EQ(greet(next), Greeting::kWait);
  const auto successor = serving_->give(held());
  ASSERT_TRUE(successor);
  const auto taken = next.receive();
  ASSERT_TRUE(taken);
  ASSERT_EQ(taken->size(), 2U);
  EXPECT_EQ((*taken)[0].name, "lock");
  EXPECT_EQ(text_of((*taken)[0].descriptor), "one");
  EXPECT_EQ((*taken)[1].name, "nvidia-gpu.sock");
  EXPECT_EQ(text_of((*taken)[1].descriptor), "two");
  next.tell_serving();
  EXPECT_TRUE(wait_until_serving(*successor, std::chrono::seconds(10)));
}

TEST_F(HandoverTest, NobodyIsGivenWhatAnotherReleaseHolds) {
  Predecessor next;
  EXPECT_EQ(greet(next, "ns/other"), Greeting::kOther);
  EXPECT_FALSE(serving_->give(held()));
}

TEST_F(HandoverTest, NobodyListens) {
  serving_.reset();
  Predecessor next;
  EXPECT_EQ(next.greet(socket_, "ns/agent"), Greeting::kNone);
  EXPECT_LT(next.fd(), 0);
}

TEST_F(HandoverTest, OneThatHasEndedIsPassedOver) {
  Predecessor first;
  ASSERT_EQ(greet(first), Greeting::kWait);
  {
    Predecessor second;
    ASSERT_EQ(greet(second), Greeting::kWait);
  }
  ASSERT_TRUE(serving_->give(held()));
  EXPECT_TRUE(first.receive());
}

TEST_F(HandoverTest, ASuccessorThatEndsDoesNotServe) {
  std::optional<Descriptor> successor;
  {
    Predecessor next;
    ASSERT_EQ(greet(next), Greeting::kWait);
    successor = serving_->give(held());
  }
  ASSERT_TRUE(successor);
  EXPECT_FALSE(wait_until_serving(*successor, std::chrono::seconds(10)));
}

TEST_F(HandoverTest, OneThatEndsWithoutHandingOverIsSeen) {
  Predecessor next;
  ASSERT_EQ(greet(next), Greeting::kWait);
  serving_.reset();
  EXPECT_FALSE(next.receive());
  EXPECT_LT(next.fd(), 0);
}

}  // namespace
}  // namespace tranche::process::handover_test
