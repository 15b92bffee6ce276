#include "interpose/session.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <utility>

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

// A connected descriptor, kNobodyThere or kMayNot.
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

// fstat, which has that name only since glibc 2.33.
bool is_status_of(int fd, struct stat& status) { return syscall(SYS_fstat, fd, &status) == 0; }

// Checks that it has our layout: another one would be misread, and a shorter one would raise
// SIGBUS. The usage memory's own header does not count: other processes of the tenant can write it.
bool is_known_policy(int fd) {
  struct Begin {
    std::uint32_t magic;
    std::uint16_t version;
    std::uint16_t device_count;
    std::uint32_t size;
  } begin{};
  static_assert(sizeof(begin) == offsetof(wire::PolicyPage, enforcement) &&
                offsetof(Begin, size) == offsetof(wire::PolicyPage, size));
  return pread(fd, &begin, sizeof(begin), 0) == sizeof(begin) &&
         begin.magic == wire::kPolicyMagic && begin.version == wire::kVersion &&
         begin.size == sizeof(wire::PolicyPage);
}
bool is_known_usage(int fd) {
  struct stat status{};
  return is_status_of(fd, status) && status.st_size == sizeof(wire::UsageFile);
}

// At `place` if not null, atomically replacing what is there.
template <class Page>
Page* map_page(int fd, Page* place, int protection) {
  void* memory =
      mmap(place, sizeof(Page), protection, MAP_SHARED | (place != nullptr ? MAP_FIXED : 0), fd, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<Page*>(memory);
}

// A second mapping of pages that are mapped already; nullptr: no memory for it.
wire::UsageFile* same_pages(wire::UsageFile* pages) {
  void* memory = mremap(pages, 0, sizeof(*pages), MREMAP_MAYMOVE);
  return memory == MAP_FAILED ? nullptr : static_cast<wire::UsageFile*>(memory);
}

// The constant content of a slot for the life of its process.
struct Sums {
  std::uint64_t charged[wire::kMaxDevices];
  std::uint32_t released[wire::kMaxDevices];
  std::uint64_t unfinished_ns[wire::kMaxDevices];  // an arbiter may already know what has ended
};

// Adds to slot `number` of `file` what `from` has beyond `told`, and updates `told`. The tenant's
// sum first: an arbiter that sees less there than in the slots considers it forged.
void add(const wire::Slot& from, Sums& told, wire::UsageFile& file, unsigned number) {
  wire::Slot& to = file.slot[number];
  for (unsigned i = 0; i < wire::kMaxDevices; ++i) {
    const auto charged = from.charged[i].load();
    const auto open_ns = from.work[i].asked_ns.load() - from.work[i].ended_ns.load();
    const auto released = from.work[i].released.load();
    to.charged[i].fetch_add(charged - told.charged[i]);
    to.work[i].released.fetch_add(released - told.released[i]);
    file.spent_ns[i].fetch_add(open_ns - told.unfinished_ns[i]);
    to.work[i].asked_ns.fetch_add(open_ns - told.unfinished_ns[i]);
    told.charged[i] = charged;
    told.unfinished_ns[i] = open_ns;
    told.released[i] = released;
  }
}

}  // namespace

Session::Outcome Session::open(const char* path, int timeout_ms) {
  if (strlen(path) >= sizeof(path_)) return Outcome::kNobody;
  strcpy(path_, path);
  return refresh(timeout_ms);
}

Session::Outcome Session::refresh(int timeout_ms) {
  if (const int fd = socket_.get(); fd >= 0) {
    pollfd state{fd, POLLIN, 0};
    if (poll(&state, 1, 0) <= 0) return Outcome::kRegistered;
  }
  socket_.close();  // it never speaks first: this is its end, or the program closed it
  const std::int64_t deadline = now_ms() + timeout_ms;
  const int fd = connect_to(path_, deadline);
  if (fd < 0) return fd == kMayNot ? Outcome::kDenied : Outcome::kNobody;
  const Outcome outcome = register_at(fd, timeout_ms);
  if (outcome == Outcome::kRegistered) {
    socket_.take(fd);
  } else {
    close(fd);
  }
  return outcome;
}

Session::Outcome Session::register_at(int socket, int timeout_ms) {
  if (!say_hello(socket) || !wait_for_answer(socket, now_ms() + timeout_ms)) {
    return Outcome::kNobody;
  }
  Received received;
  if (!receive(socket, received)) return Outcome::kNobody;
  const wire::Welcome& welcome = received.welcome;
  if (welcome.answer != wire::Answer::kAccepted) return Outcome::kRefused;
  if (welcome.slot >= wire::kMaxProcesses) return Outcome::kRefused;
  if (!is_known_policy(received.fds[0]) || !is_known_usage(received.fds[1])) {
    return Outcome::kRefused;
  }
  if (!take_over(welcome, received.fds)) return Outcome::kNoMemory;
  memory_.take(std::exchange(received.fds[1], -1));
  return Outcome::kRegistered;
}

// With the usage memory, if any: the next arbiter continues with it.
bool Session::say_hello(int socket) const {
  wire::Hello hello{wire::kHelloMagic, wire::Message::kHello, wire::kVersion, 0, slot(),
                    generation_};
  iovec data{&hello, sizeof(hello)};
  const int memory = memory_.get();
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(memory))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (memory >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(memory));
    memcpy(CMSG_DATA(header), &memory, sizeof(memory));
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(hello);
}

// If the slot differs from this process's previous one, the process's monotonic sums continue in
// it. They are written before the new pages are mapped, so no thread misses them. What other
// threads add to the old slot meanwhile is added afterwards.
bool Session::take_over(const wire::Welcome& welcome, const int (&fds)[2]) {
  const bool is_same =
      usage_ != nullptr && welcome.slot == slot() && welcome.generation == generation_;
  const unsigned before = slot();
  wire::UsageFile* old = usage_ != nullptr && !is_same ? same_pages(usage_) : nullptr;
  auto* fresh = map_page<wire::UsageFile>(fds[1], nullptr, PROT_READ | PROT_WRITE);
  if (fresh == nullptr) {
    if (old != nullptr) munmap(old, sizeof(*old));
    return false;
  }
  wire::Slot& slot = fresh->slot[welcome.slot];
  slot.pid.store(welcome.pid);
  slot.inner_pid.store(static_cast<std::uint32_t>(getpid()));
  Sums told{};
  if (old != nullptr) add(old->slot[before], told, *fresh, welcome.slot);
  const bool is_mapped = map(fds[0], fds[1]);
  if (is_mapped) {
    slot_.store(welcome.slot, std::memory_order_relaxed);
    generation_ = welcome.generation;
    if (old != nullptr) add(old->slot[before], told, *fresh, welcome.slot);
  }
  munmap(fresh, sizeof(*fresh));
  if (old != nullptr) munmap(old, sizeof(*old));
  return is_mapped;
}

bool Session::map(int policy_fd, int usage_fd) {
  auto* policy = map_page(policy_fd, policy_, PROT_READ);
  if (policy == nullptr) return false;
  if (policy_ == nullptr) policy_ = policy;  // else other threads read the pointer, which stays
  auto* usage = map_page(usage_fd, usage_, PROT_READ | PROT_WRITE);
  if (usage == nullptr) return false;
  if (usage_ == nullptr) usage_ = usage;
  return true;
}

void Session::notify(wire::Message kind, unsigned device) {
  const int fd = socket_.get();
  if (fd < 0) return;  // refresh() registers again
  const wire::Notice notice{wire::kHelloMagic, kind, device, 0};
  // A lost message does no harm: the arbiter also checks by itself, and refresh() finds a broken
  // connection.
  (void)!send(fd, &notice, sizeof(notice), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace tranche::interpose
