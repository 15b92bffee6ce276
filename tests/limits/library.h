#pragma once
// The library's registration with the arbiter, for tests of the arbiter.

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "interpose/ledger.h"
#include "limit/wire.h"

namespace tranche::test {

namespace wire = limit::wire;

struct Library {
  int socket = -1;
  int memory = -1;  // of the usage memory, after the welcome
  wire::Welcome welcome{};
  const wire::PolicyPage* policy = nullptr;
  wire::UsageFile* usage = nullptr;

  bool connect_to(const std::filesystem::path& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path.c_str());
    socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    return connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  bool say(const auto& message) const {
    return send(socket, &message, sizeof(message), MSG_NOSIGNAL) == sizeof(message);
  }
  // `slot`: its slot under an earlier arbiter.
  bool hello(std::uint16_t version = wire::kVersion, unsigned slot = wire::kMaxProcesses) const {
    return say(wire::Hello{wire::kHelloMagic, wire::Message::kHello, version, 0, slot, 0});
  }
  // Says hello to the next arbiter and hands over `fd`, the previous arbiter's memory.
  bool hello_with(int fd) const {
    wire::Hello hello{
        wire::kHelloMagic, wire::Message::kHello, wire::kVersion, 0, wire::kMaxProcesses, 0};
    iovec data{&hello, sizeof(hello)};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(fd));
    std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    return sendmsg(socket, &message, MSG_NOSIGNAL) == sizeof(hello);
  }
  bool receive() {
    iovec data{&welcome, sizeof(welcome)};
    alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
    msghdr header{};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    if (recvmsg(socket, &header, 0) != sizeof(welcome)) return false;
    if (welcome.answer != wire::Answer::kAccepted) return true;
    int fds[2];
    std::memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&header)), sizeof(fds));
    policy = static_cast<const wire::PolicyPage*>(
        mmap(nullptr, sizeof(wire::PolicyPage), PROT_READ, MAP_SHARED, fds[0], 0));
    usage = static_cast<wire::UsageFile*>(
        mmap(nullptr, sizeof(wire::UsageFile), PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0));
    close(fds[0]);
    memory = fds[1];
    return true;
  }
  interpose::Ledger ledger() const { return {*policy, *usage, welcome.slot}; }
};

}  // namespace tranche::test
