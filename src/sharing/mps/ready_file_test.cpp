#include "mps/ready_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "mps/protocol.h"
#include "support/temp_dir.h"

namespace tranche::mps::ready_file_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Service by the newest known protocol.
offer::MpsService newest(std::map<std::string, std::string> partitions) {
  const Protocol& protocol = *protocols().back();
  return {.protocol = protocol.number(),
          .namespaces = protocol.has_namespaces(),
          .partitions = std::move(partitions)};
}

class MarkTest : public ::testing::Test {
 protected:
  test::TempDir dir_;
  std::filesystem::path file_ = dir_.path() / ".started";
};

TEST_F(MarkTest, IsBelievedWhileItsMakerLives) {
  EXPECT_THAT(trouble_of(file_), HasSubstr("does not serve"));
  {
    const auto mark = ReadyFile::put(file_);
    ASSERT_TRUE(mark.has_value());
    EXPECT_EQ(trouble_of(file_), "");
  }
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(MarkTest, OfOneThatWasKilledIsNot) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto mark = ReadyFile::put(file_, std::vector<std::string>{"GPU-a", "GPU-b"});
    ::_exit(mark && trouble_of(file_).empty() ? 0 : 1);  // without removing anything
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_TRUE(std::filesystem::exists(file_));
  EXPECT_THAT(trouble_of(file_), HasSubstr("has ended"));
  EXPECT_THAT(left_behind(file_), ElementsAre("GPU-a", "GPU-b"));
  // The next supervisor's file does not count as left behind.
  const auto mark = ReadyFile::put(file_, std::vector<std::string>{"GPU-c"});
  EXPECT_THAT(left_behind(file_), IsEmpty());
  EXPECT_EQ(trouble_of(file_), "");
}

TEST_F(MarkTest, OfNvidiasIsEmptyAndBelieved) {
  std::ofstream(file_).close();
  EXPECT_EQ(trouble_of(file_), "");
  EXPECT_THAT(left_behind(file_), IsEmpty());
}

TEST_F(MarkTest, TellsHowItServes) {
  EXPECT_EQ(service_of(file_), offer::MpsService()) << "there is none";
  const auto service = newest({{"GPU-a::0", "GPU-a/Kp8AA"}, {"GPU-a::1", "GPU-a/Jn6AA"}});
  const auto mark = ReadyFile::put(file_, std::vector<std::string>{"GPU-a"}, service);
  ASSERT_TRUE(mark.has_value());
  EXPECT_EQ(service_of(file_), service);
  EXPECT_EQ(trouble_of(file_), "");
}

TEST_F(MarkTest, OfNvidiasTellsProtocol2) {
  std::ofstream(file_).close();
  EXPECT_EQ(service_of(file_), offer::MpsService());
  std::ofstream(file_) << "protocol 3\n";
  EXPECT_EQ(service_of(file_), offer::MpsService()) << "not ours";
}

TEST_F(MarkTest, OfAProtocolThatNobodySpeaksTellsProtocol2) {
  const auto mark = ReadyFile::put(file_, std::vector<std::string>{"GPU-a"}, {.protocol = 99});
  EXPECT_EQ(service_of(file_), offer::MpsService());
}

TEST_F(MarkTest, NamesTheGpusOfOneThatWasKilledAlone) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto mark = ReadyFile::put(file_, std::vector<std::string>{"GPU-a"},
                                     newest({{"GPU-a::0", "GPU-a/Kp8AA"}}));
    ::_exit(mark ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_THAT(left_behind(file_), ElementsAre("GPU-a"));
  EXPECT_EQ(service_of(file_).protocol, protocols().back()->number());
}

TEST_F(MarkTest, MovesWithItsOwner) {
  auto mark = ReadyFile::put(file_);
  ASSERT_TRUE(mark.has_value());
  const ReadyFile other(*std::move(mark));
  EXPECT_EQ(trouble_of(file_), "");
}

TEST_F(MarkTest, CannotBePutWhereThereIsNoFolder) {
  EXPECT_FALSE(ReadyFile::put(dir_.path() / "no" / ".started").has_value());
}

TEST_F(MarkTest, IsRenewedInOneStep) {
  const std::vector<std::string> gpus{"GPU-a"};
  auto mark = ReadyFile::put(file_, gpus).value();
  EXPECT_FALSE(service_of(file_).open);
  ASSERT_TRUE(mark.renew(gpus, {.open = true}));
  EXPECT_TRUE(service_of(file_).open);
  EXPECT_EQ(trouble_of(file_), "");
  EXPECT_EQ(gpus_of(file_), (std::set<std::string>{"GPU-a"})) << "an older agent reads no GPU more";
  std::filesystem::create_directory(file_.string() + ".new");
  EXPECT_FALSE(mark.renew(gpus, {}));
  EXPECT_TRUE(service_of(file_).open) << "what was said before stays";
}

}  // namespace
}  // namespace tranche::mps::ready_file_test
