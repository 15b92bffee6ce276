#include "tenant/socket.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <array>
#include <cstdlib>
#include <cstring>

namespace tranche::tenant::socket_test {
namespace {

using namespace limit;

class SocketTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tranche-socket-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    dir = name;
    auto opened = Listener::open(dir / "arbiter.sock");
    ASSERT_TRUE(opened) << opened.error().message();
    listener = *std::move(opened);
  }
  void TearDown() override { std::filesystem::remove_all(dir); }

  int connect_to() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, (dir / "arbiter.sock").c_str());
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }
  Peer accept_peer() {
    auto peer = listener->accept();
    EXPECT_TRUE(peer && *peer);
    return std::move(**peer);
  }
  Connection accept() { return std::move(accept_peer().connection); }

  std::filesystem::path dir;
  std::optional<Listener> listener;
};

constexpr wire::Hello kHello{
    wire::kHelloMagic, wire::Message::kHello, wire::kVersion, 0, wire::kMaxProcesses, 0};

TEST_F(SocketTest, AHelloComesWithTheProcessThatSentIt) {
  const Descriptor library(connect_to());
  ASSERT_EQ(send(library.get(), &kHello, sizeof(kHello), 0), sizeof(kHello));
  auto [connection, process] = accept_peer();
  EXPECT_EQ(process.id().pid, getpid());
  const auto message = connection.receive();
  ASSERT_TRUE(message && *message);
  EXPECT_EQ(std::get<wire::Hello>(**message).version, wire::kVersion);
  EXPECT_EQ(*connection.receive(), std::nullopt);
}

TEST_F(SocketTest, TheAnswerCarriesTwoDescriptors) {
  const Descriptor library(connect_to());
  Connection connection = accept();
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const wire::Welcome welcome{wire::kHelloMagic, wire::Message::kWelcome, wire::Answer::kAccepted,
                              3, 1};
  ASSERT_TRUE(connection.send(welcome, pipe_ends[0], pipe_ends[1]));
  wire::Welcome seen{};
  iovec data{&seen, sizeof(seen)};
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))];
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  ASSERT_EQ(recvmsg(library.get(), &header, 0), sizeof(seen));
  EXPECT_EQ(seen.slot, 3U);
  int fds[2];
  std::memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&header)), sizeof(fds));
  EXPECT_EQ(write(fds[1], "x", 1), 1);
  char c = 0;
  EXPECT_EQ(read(pipe_ends[0], &c, 1), 1);
  for (const int fd : {fds[0], fds[1], pipe_ends[0], pipe_ends[1]}) close(fd);
}

TEST_F(SocketTest, WhatIsNoMessageEndsTheConnection) {
  const wire::Hello wrong_magic{1, wire::Message::kHello, wire::kVersion, 0, 0, 0};
  const wire::Notice wrong_device{wire::kHelloMagic, wire::Message::kWaiting, wire::kMaxDevices, 0};
  const wire::Welcome not_its_own{wire::kHelloMagic, wire::Message::kWelcome,
                                  wire::Answer::kAccepted, 0, 0};
  const std::array<char, 4000> long_one{};
  const auto bytes = [](const auto& value) {
    return std::string_view(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  for (const std::string_view packet :
       {bytes(wrong_magic), bytes(wrong_device), bytes(not_its_own), bytes(long_one),
        std::string_view("x"), bytes(kHello).substr(0, sizeof(kHello) - 1)}) {
    const Descriptor library(connect_to());
    ASSERT_EQ(send(library.get(), packet.data(), packet.size(), 0),
              static_cast<ssize_t>(packet.size()));
    Connection connection = accept();
    const auto message = connection.receive();
    ASSERT_FALSE(message) << packet.size();
    EXPECT_EQ(message.error().code, Code::kInvalidArgument);
  }
}

TEST_F(SocketTest, APeerThatGoesIsSeen) {
  {
    const Descriptor library(connect_to());
  }
  Connection connection = accept();
  const auto message = connection.receive();
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().code, Code::kUnavailable);
}

TEST_F(SocketTest, AKilledPeerIsSeenByItsPidfd) {
  const pid_t child = fork();
  if (child == 0) {
    connect_to();
    pause();
  }
  pollfd waiting{listener->fd(), POLLIN, 0};
  ASSERT_EQ(poll(&waiting, 1, 10'000), 1);
  const Process process = accept_peer().process;
  EXPECT_EQ(process.id().pid, child);
  EXPECT_FALSE(process.has_ended());
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(process.has_ended());
}

TEST_F(SocketTest, TheNextArbiterListensAtTheSamePath) {
  auto next = Listener::open(dir / "arbiter.sock");
  ASSERT_TRUE(next) << next.error().message();
  listener = *std::move(next);
  const Descriptor library(connect_to());
  accept();
}

TEST_F(SocketTest, NobodyThereIsNotAnError) {
  const auto nobody = listener->accept();
  ASSERT_TRUE(nobody);
  EXPECT_FALSE(*nobody);
}

TEST(Listener, ATooLongPathIsRefused) {
  const auto listener = Listener::open("/tmp/" + std::string(200, 'x'));
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace tranche::tenant::socket_test
