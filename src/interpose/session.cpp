#include "interpose/session.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

namespace tranche::interpose {

using namespace limit;

namespace {

std::int64_t now_ms() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

constexpr int kNobodyThere = -1;
constexpr int kMayNot = -2;

// A descriptor, or one of the two.
int connect_to(const char* path, std::int64_t deadline) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (strlen(path) >= sizeof(address.sun_path)) return kNobodyThere;
  strcpy(address.sun_path, path);
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return kNobodyThere;
  while (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    // EAGAIN: its queue is full; a unix socket cannot be polled for that.
    if ((errno != EAGAIN && errno != EINTR) || now_ms() >= deadline) {
      const bool is_denied = errno == EACCES || errno == EPERM;
      close(fd);
      return is_denied ? kMayNot : kNobodyThere;
    }
    const timespec nap{0, 1'000'000};
    nanosleep(&nap, nullptr);
  }
  return fd;
}

bool wait_for_answer(int fd, std::int64_t deadline) {
  for (;;) {
    const std::int64_t left = deadline - now_ms();
    pollfd ready{fd, POLLIN, 0};
    const int count = poll(&ready, 1, left > 0 ? static_cast<int>(left) : 0);
    if (count > 0) return true;
    if (count == 0 || errno != EINTR) return false;
  }
}

struct Received {
  wire::Welcome welcome{};
  int fds[2] = {-1, -1};

  ~Received() {
    for (const int fd : fds) {
      if (fd >= 0) close(fd);
    }
  }
};

bool receive(int socket, Received& received) {
  iovec data{&received.welcome, sizeof(received.welcome)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(received.fds))];
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const auto n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (n > 0 && header != nullptr && header->cmsg_type == SCM_RIGHTS &&
      header->cmsg_len == CMSG_LEN(sizeof(received.fds))) {
    memcpy(received.fds, CMSG_DATA(header), sizeof(received.fds));
  }
  return n == sizeof(received.welcome) && received.welcome.magic == wire::kHelloMagic &&
         received.welcome.kind == wire::Message::kWelcome;
}

// How both files begin.
struct Beginning {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t count;
  std::uint32_t size;
};
static_assert(offsetof(wire::PolicyPage, size) == offsetof(Beginning, size));
static_assert(offsetof(wire::UsageFile, size) == offsetof(Beginning, size));

// Of our layout: another one would be read as nonsense, and a shorter file not at all (SIGBUS).
template <class Page>
bool is_known(int fd, std::uint32_t magic) {
  Beginning start{};
  return pread(fd, &start, sizeof(start), 0) == sizeof(start) && start.magic == magic &&
         start.version == wire::kVersion && start.size == sizeof(Page);
}

// At `place` when it is not null, in one step instead of what is there.
template <class Page>
Page* map_page(int fd, Page* place, int protection) {
  void* memory =
      mmap(place, sizeof(Page), protection, MAP_SHARED | (place != nullptr ? MAP_FIXED : 0), fd, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<Page*>(memory);
}

}  // namespace

Session::~Session() { disconnect(); }

void Session::disconnect() {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
}

Session::Outcome Session::open(const char* path, int timeout_ms) {
  if (strlen(path) >= sizeof(path_)) return Outcome::kNobody;
  strcpy(path_, path);
  return refresh(timeout_ms);
}

Session::Outcome Session::refresh(int timeout_ms) {
  if (socket_ >= 0) {
    pollfd state{socket_, POLLIN, 0};
    if (poll(&state, 1, 0) <= 0) return Outcome::kRegistered;
    disconnect();  // it never speaks first: this is its end
  }
  const std::int64_t deadline = now_ms() + timeout_ms;
  const int fd = connect_to(path_, deadline);
  if (fd < 0) return fd == kMayNot ? Outcome::kDenied : Outcome::kNobody;
  const Outcome outcome = register_at(fd, timeout_ms);
  if (outcome == Outcome::kRegistered) {
    socket_ = fd;
  } else {
    close(fd);
  }
  return outcome;
}

Session::Outcome Session::register_at(int socket, int timeout_ms) {
  const wire::Hello hello{wire::kHelloMagic, wire::Message::kHello, wire::kVersion, 0, slot_,
                          generation_};
  if (send(socket, &hello, sizeof(hello), MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(hello) ||
      !wait_for_answer(socket, now_ms() + timeout_ms)) {
    return Outcome::kNobody;
  }
  Received received;
  if (!receive(socket, received)) return Outcome::kNobody;
  const wire::Welcome& welcome = received.welcome;
  if (welcome.answer != wire::Answer::kAccepted) return Outcome::kRefused;
  if (welcome.slot >= wire::kMaxProcesses) return Outcome::kRefused;
  if (!is_known<wire::PolicyPage>(received.fds[0], wire::kPolicyMagic) ||
      !is_known<wire::UsageFile>(received.fds[1], wire::kUsageMagic)) {
    return Outcome::kRefused;
  }

  // What this process holds, should the arbiter not know it any more.
  std::uint64_t held[wire::kMaxDevices] = {};
  const bool had_slot = usage_ != nullptr;
  for (unsigned i = 0; had_slot && i < wire::kMaxDevices; ++i) {
    held[i] = usage_->slot[slot_].charged[i].load();
  }
  if (!map(received.fds[0], received.fds[1])) return Outcome::kNoMemory;
  const bool is_same = welcome.slot == slot_ && welcome.generation == generation_;
  slot_ = welcome.slot;
  generation_ = welcome.generation;
  usage_->slot[slot_].pid.store(welcome.pid);
  usage_->slot[slot_].inner_pid.store(static_cast<std::uint32_t>(getpid()));
  for (unsigned i = 0; had_slot && !is_same && i < wire::kMaxDevices; ++i) {
    usage_->slot[slot_].charged[i].fetch_add(held[i]);
  }
  return Outcome::kRegistered;
}

bool Session::map(int policy_fd, int usage_fd) {
  auto* policy = map_page(policy_fd, policy_, PROT_READ);
  if (policy == nullptr) return false;
  policy_ = policy;
  auto* usage = map_page(usage_fd, usage_, PROT_READ | PROT_WRITE);
  if (usage == nullptr) return false;
  usage_ = usage;
  return true;
}

void Session::notify(wire::Message kind, unsigned device) {
  if (socket_ < 0) return;
  const wire::Notice notice{wire::kHelloMagic, kind, device, 0};
  // Lost or not: the arbiter looks by itself too, and a broken connection is found by refresh().
  (void)!send(socket_, &notice, sizeof(notice), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace tranche::interpose
