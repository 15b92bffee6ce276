// What the arbiter costs: CPU with many busy tenants and with idle ones; how soon a
// latency-critical tenant's notice closes the others; and what a hostile tenant, or one that keeps
// connecting, costs another one. Real sockets, pages and processes, one for each tenant, which
// write their slots as the library does. The GPU is a shared word: the time when it is free again.
// Not a google-benchmark, because its load is other processes.
//
//   arbiter_bench [--tenants 48] [--seconds 5]     --seconds 0: without the busy and idle tenants
//   arbiter_bench --hostile 400                    only the hostile tenant, with 400 processes
//   arbiter_bench --storm 10000                    only a tenant that connects 10000 times

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "arbiter/arbiter.h"
#include "base/descriptor.h"
#include "interpose/session.h"

namespace tranche {
namespace {

using namespace limit;
using namespace std::chrono_literals;

constexpr std::uint64_t kBatch = 100'000;  // ns of GPU time, as the library's
constexpr unsigned kMostDevices = 8;

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

void sleep_until(std::uint64_t ns) {
  const timespec at{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
  }
}

// Shared by the processes of a run.
struct Common {
  std::atomic<std::uint64_t> free_at[kMostDevices];  // of each GPU
  std::atomic<std::uint64_t> batches;
  std::atomic<bool> works;
};

std::string uuid_of(unsigned device) {
  return fmt::format("GPU-00112233-4455-6677-8899-{:012x}", device + 1);
}

class Folder {
 public:
  Folder() {
    char name[] = "/dev/shm/tranche-bench-XXXXXX";
    if (mkdtemp(name) == nullptr) std::abort();
    path_ = name;
    std::filesystem::create_directories(tenants());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::filesystem::path tenants() const { return path_ / "tenants"; }
  std::filesystem::path state() const { return path_ / "state"; }
  std::string socket(const std::string& id) const { return tenants() / id / "arbiter.sock"; }
  void promise(const std::string& id, unsigned device, Priority priority) const {
    const TenantLimits limits{.id = id,
                              .resource = "nvidia.com/gpu",
                              .enforcement = Enforcement::kElastic,
                              .priority = priority,
                              .devices = {{uuid_of(device), Bytes::from_mib(1024)}}};
    std::filesystem::create_directories(tenants() / id);
    std::ofstream(tenants() / (id + ".json")) << encode(limits);
  }

 private:
  std::filesystem::path path_;
};

// Passes one batch after the other through the gate, as a tenant that always has work.
class Tenant {
 public:
  Tenant(const std::string& socket, unsigned device, Common& common)
      : device_(device), common_(common) {
    if (session_.open(socket.c_str(), 30'000) != interpose::Session::Outcome::kRegistered) _exit(1);
  }

  void run() {
    for (;;) {
      while (!common_.works) sleep_until(now_ns() + 20'000'000);
      pass_gate();
      auto& usage = session_.usage();
      auto& slot = usage.slot[session_.slot()];
      usage.spent_ns[0] += kBatch;
      slot.work[0].asked_ns += kBatch;
      std::uint64_t begin = 0;
      std::uint64_t free_at = common_.free_at[device_];
      do {
        begin = std::max(free_at, now_ns());
      } while (!common_.free_at[device_].compare_exchange_weak(free_at, begin + kBatch));
      slot.work[0].busy_since = begin;
      sleep_until(begin + kBatch);
      slot.ring[slot.written % wire::kRing] = {begin, begin + kBatch, 0, 1, kBatch};
      slot.written += 1;
      slot.work[0].busy_since = 0;
      common_.batches += 1;
    }
  }

 private:
  void pass_gate() {
    const auto& policy = session_.policy();
    const auto& mine = policy.devices[0];
    auto& usage = session_.usage();
    auto& waiting = usage.slot[session_.slot()].work[0].waiting;
    const auto may = [&] { return mine.closed == 0 && usage.spent_ns[0] < mine.allowed_ns; };
    if (may()) return;
    waiting += 1;
    while (!may()) {
      const std::uint32_t turn = mine.turn;
      if (policy.awake == 0) session_.notify(wire::Message::kWaiting, 0);
      if (may()) break;
      const timespec longest{0, 100'000'000};
      syscall(SYS_futex, &mine.turn, FUTEX_WAIT, turn, &longest, nullptr, 0);
    }
    waiting -= 1;
  }

  interpose::Session session_;
  unsigned device_;
  Common& common_;
};

// CPU time and wake-ups of the thread that runs the arbiter.
struct Cost {
  std::uint64_t wall = 0;
  std::uint64_t cpu = 0;
  long wakes = 0;

  static Cost now() {
    timespec cpu{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return {now_ns(),
            static_cast<std::uint64_t>(cpu.tv_sec) * 1'000'000'000 +
                static_cast<std::uint64_t>(cpu.tv_nsec),
            usage.ru_nvcsw};
  }
  Cost since(const Cost& before) const {
    return {wall - before.wall, cpu - before.cpu, wakes - before.wakes};
  }
  double percent() const { return 100.0 * static_cast<double>(cpu) / static_cast<double>(wall); }
  double per_second(double count) const { return count * 1e9 / static_cast<double>(wall); }
};

// Runs the arbiter for this time on its own thread. The scheduler would otherwise charge this
// thread for that work, and delay it when it measures a notice.
Cost serve(arbiter::Arbiter& arbiter, std::chrono::milliseconds time) {
  Cost cost;
  std::jthread serving([&](const std::stop_token& stop) {
    const Cost before = Cost::now();
    arbiter.run(stop);
    cost = Cost::now().since(before);
  });
  std::this_thread::sleep_for(time);
  serving.request_stop();
  serving.join();
  return cost;
}

void busy_tenants(unsigned tenants, unsigned devices, std::chrono::seconds time) {
  const Folder folder;
  auto* common = static_cast<Common*>(
      mmap(nullptr, sizeof(Common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  new (common) Common{};
  std::vector<pid_t> children;
  for (unsigned i = 0; i < tenants; ++i) {
    folder.promise(fmt::format("t{}", i), i % devices, Priority::kNormal);
  }
  const SystemClock clock;
  const Log log(LogLevel::kError);
  const auto arbiter =
      arbiter::Arbiter::open({folder.tenants(), folder.state()}, clock, log).value();
  for (unsigned i = 0; i < tenants; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      Tenant(folder.socket(fmt::format("t{}", i)), i % devices, *common).run();
    }
    children.push_back(child);
  }
  serve(*arbiter, 2s);  // they register
  const Cost idle = serve(*arbiter, time);
  common->works = true;
  serve(*arbiter, 500ms);
  const std::uint64_t before = common->batches;
  const Cost busy = serve(*arbiter, time);
  const auto used = busy.per_second(static_cast<double>(common->batches - before)) *
                    static_cast<double>(kBatch) / 1e9 / devices;
  fmt::print(
      "{} tenants on {} GPU{}: idle {:.3f} % of a core, {:.1f} wake-ups a second; "
      "busy {:.2f} % of a core, {:.0f} wake-ups a second, GPU {:.0f} % used\n",
      tenants, devices, devices == 1 ? "" : "s", idle.percent(),
      idle.per_second(static_cast<double>(idle.wakes)), busy.percent(),
      busy.per_second(static_cast<double>(busy.wakes)), 100 * used);
  for (const pid_t child : children) kill(child, SIGKILL);
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  munmap(common, sizeof(Common));
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

void print_percentiles(std::string_view what, std::vector<double> us) {
  std::ranges::sort(us);
  const auto at = [&](double part) {
    return us[static_cast<std::size_t>(part * static_cast<double>(us.size() - 1))];
  };
  fmt::print("{}: p50 {:.0f} us, p99 {:.0f} us, max {:.0f} us, {} times\n", what, at(0.5), at(0.99),
             us.back(), us.size());
}

// From a latency-critical process's notice to the word that closes a best-effort one. `pause`
// between two requests: whether the arbiter falls asleep.
void notices(std::string_view what, std::chrono::milliseconds pause, int times) {
  const Folder folder;
  folder.promise("critical", 0, Priority::kLatencyCritical);
  for (int i = 0; i < 8; ++i) folder.promise(fmt::format("b{}", i), 0, Priority::kBestEffort);
  const SystemClock clock;
  const Log log(LogLevel::kError);
  const auto arbiter =
      arbiter::Arbiter::open({folder.tenants(), folder.state()}, clock, log).value();
  std::vector<double> us;
  prctl(PR_SET_TIMERSLACK, 1);
  const std::jthread serving([&](const std::stop_token& stop) { arbiter->run(stop); });
  interpose::Session critical;
  std::vector<interpose::Session> others(8);
  if (critical.open(folder.socket("critical").c_str(), 30'000) !=
      interpose::Session::Outcome::kRegistered) {
    std::abort();
  }
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (others[i].open(folder.socket(fmt::format("b{}", i)).c_str(), 30'000) !=
        interpose::Session::Outcome::kRegistered) {
      std::abort();
    }
    others[i].usage().slot[others[i].slot()].work[0].waiting = 1;
  }
  auto& slot = critical.usage().slot[critical.slot()];
  const auto all = [&](std::uint32_t closed) {
    return std::ranges::count_if(others, [&](const auto& other) {
             return other.policy().devices[0].closed == closed;
           }) == static_cast<std::ptrdiff_t>(others.size());
  };
  for (int i = 0; i < times; ++i) {
    for (auto& other : others)
      other.usage().slot[other.slot()].work[0].waiting = pause < 20ms ? 1 : 0;
    std::this_thread::sleep_for(pause);
    const std::uint64_t begin = now_ns();
    critical.usage().spent_ns[0] += kBatch;
    slot.work[0].asked_ns += kBatch;
    slot.work[0].busy_since = begin;
    critical.notify(wire::Message::kWaiting, 0);
    // Without keeping the arbiter from a processor.
    while (!all(1) && now_ns() < begin + 1'000'000'000) sleep_until(now_ns() + 5'000);
    us.push_back(static_cast<double>(now_ns() - begin) / 1e3);
    slot.ring[slot.written % wire::kRing] = {begin, now_ns(), 0, 1, kBatch};
    slot.written += 1;
    slot.work[0].busy_since = 0;
  }
  print_percentiles(what, std::move(us));
}

// A thread that waits at the gate, and one that waits for a plain futex, in turn; each reports when
// it continued.
struct Waiter {
  std::atomic<std::uint32_t> plain;
  std::atomic<std::uint32_t> waits;  // the number of its turn; odd: at the gate
  std::atomic<std::uint64_t> went_on_at;
  std::atomic<std::uint64_t> spent;
};

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value) {
  const timespec longest{0, 100'000'000};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, &longest, nullptr, 0);
}

[[noreturn]] void wait_in_turn(Waiter& waiter, const wire::DevicePolicy& policy) {
  for (std::uint32_t turn = 1;; ++turn) {
    waiter.waits = turn;
    if (turn % 2 == 1) {
      const auto may = [&] { return policy.closed == 0 && waiter.spent < policy.allowed_ns; };
      while (true) {
        const std::uint32_t seen = policy.turn;
        if (may()) break;
        futex_wait(policy.turn, seen);
      }
      waiter.spent = policy.allowed_ns.load();
    } else {
      while (waiter.plain != turn) futex_wait(waiter.plain, waiter.plain);
    }
    waiter.went_on_at = now_ns();
  }
}

// The time from the arbiter's release of a blocked launch (it raises what is allowed, and wakes)
// until that launch continues in another process; and the same of a bare futex.
void wakes(int times) {
  auto page = tenant::PolicyPage::create({}).value();
  auto* waiter = static_cast<Waiter*>(
      mmap(nullptr, sizeof(Waiter), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  new (waiter) Waiter{};
  const auto* seen = static_cast<const wire::PolicyPage*>(
      mmap(nullptr, sizeof(wire::PolicyPage), PROT_READ, MAP_SHARED, page.fd(), 0));
  wire::DevicePolicy& policy = page.get().devices[0];
  policy.allowed_ns = 0;
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    wait_in_turn(*waiter, seen->devices[0]);
  }
  const auto wake = [](const std::atomic<std::uint32_t>& word) {
    syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  };
  std::vector<double> gate;
  std::vector<double> plain;
  Ns allowed{0};
  for (std::uint32_t turn = 1; gate.size() < static_cast<std::size_t>(times); ++turn) {
    while (waiter->waits != turn) sleep_until(now_ns() + 100'000);
    sleep_until(now_ns() + 1'000'000);  // it sleeps by now
    waiter->went_on_at = 0;
    const std::uint64_t begin = now_ns();
    if (turn % 2 == 1) {
      allowed += FairQueue::kQuantum;
      (void)arbiter::publish({.allowed = allowed}, policy);
      wake(policy.turn);
    } else {
      waiter->plain = turn;
      wake(waiter->plain);
    }
    while (waiter->went_on_at == 0) sleep_until(now_ns() + 50'000);
    (turn % 2 == 1 ? gate : plain).push_back(static_cast<double>(waiter->went_on_at - begin) / 1e3);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  print_percentiles("blocked launch: allowed to going on", gate);
  print_percentiles("plain futex wake between two processes", plain);
  fmt::print("ratio of the medians: {:.2f}\n", median(gate) / median(plain));
  munmap(waiter, sizeof(Waiter));
}

pid_t stays_registered(const std::string& socket) {
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  interpose::Session session;
  if (session.open(socket.c_str(), 30'000) != interpose::Session::Outcome::kRegistered) _exit(1);
  for (;;) pause();
}

// Keeps writing into the slots of all processes of its tenant: full rings of overlapping intervals,
// and work that never ends.
pid_t fills_all_slots(const std::string& socket) {
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  interpose::Session session;
  if (session.open(socket.c_str(), 30'000) != interpose::Session::Outcome::kRegistered) _exit(1);
  auto& usage = session.usage();
  for (std::uint64_t random = 1;;) {
    for (unsigned slot = 0; slot < usage.slots; ++slot) {
      wire::Slot& of = usage.slot[slot];
      const std::uint64_t now = now_ns();
      for (wire::Interval& interval : of.ring) {
        random = random * 6364136223846793005 + 1442695040888963407;
        const std::uint64_t end = now + (random >> 42U);
        interval = {end - (random >> 20U & 0x1FFFFF), end, 0, 1, random >> 45U};
      }
      of.work[0].waiting = 1;
      of.work[0].busy_since = now - 1'000'000;
      of.work[0].asked_ns += 1'000;
      of.written += wire::kRing;
    }
    sleep_until(now_ns() + 500'000);
  }
}

// A process of the tenant starts, registers and ends; us.
double hello(const std::string& socket) {
  const std::uint64_t begin = now_ns();
  const pid_t child = fork();
  if (child == 0) {
    interpose::Session session;
    const auto outcome = session.open(socket.c_str(), 30'000);
    _exit(outcome == interpose::Session::Outcome::kRegistered ? 0 : 1);
  }
  waitpid(child, nullptr, 0);
  return static_cast<double>(now_ns() - begin) / 1e3;
}

// Connects; each second time it says hello too, and receives the answer. Then it closes.
void connect_once(const sockaddr_un& address, bool says_hello) {
  const Descriptor fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  while (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    if (errno != EINTR && errno != EAGAIN) _exit(1);
  }
  if (!says_hello) return;
  const wire::Hello hello{.magic = wire::kHelloMagic,
                          .kind = wire::Message::kHello,
                          .version = wire::kVersion,
                          .reserved = 0,
                          .slot = wire::kMaxProcesses,
                          .generation = 0};
  (void)!send(fd.get(), &hello, sizeof(hello), MSG_NOSIGNAL);
  wire::Welcome welcome{};  // its descriptors are dropped: there is no room for them
  (void)!recv(fd.get(), &welcome, sizeof(welcome), 0);
}

pid_t connects(const std::string& socket, unsigned times, std::atomic<std::uint64_t>& made) {
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket.copy(address.sun_path, sizeof(address.sun_path) - 1);
  for (unsigned i = 0; i < times; ++i, ++made) connect_once(address, i % 2 == 0);
  _exit(0);
}

// How a tenant is affected by another one whose processes keep connecting, `times` in all: the time
// of its own hello, before and meanwhile, and the age of the heartbeat.
void storm(unsigned times) {
  constexpr unsigned kProcesses = 4;
  const Folder folder;
  folder.promise("storm", 0, Priority::kNormal);
  folder.promise("good", 0, Priority::kNormal);
  auto* made = static_cast<std::atomic<std::uint64_t>*>(
      mmap(nullptr, sizeof(std::atomic<std::uint64_t>), PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const SystemClock clock;
  const Log log(LogLevel::kError);
  const auto arbiter =
      arbiter::Arbiter::open({folder.tenants(), folder.state()}, clock, log).value();
  const std::jthread serving([&](const std::stop_token& stop) { arbiter->run(stop); });
  const std::string socket = folder.socket("good");
  interpose::Session good;
  if (good.open(socket.c_str(), 30'000) != interpose::Session::Outcome::kRegistered) std::abort();
  good.usage().slot[good.slot()].work[0].waiting = 1;  // it is awake
  std::vector<double> alone;
  for (int i = 0; i < 200; ++i) alone.push_back(hello(socket));
  const std::uint64_t begin = now_ns();
  std::vector<pid_t> children;
  for (unsigned i = 0; i < kProcesses; ++i) {
    children.push_back(connects(folder.socket("storm"), times / kProcesses, *made));
  }
  std::vector<double> beside;
  double oldest = 0;
  while (*made < times / kProcesses * kProcesses && now_ns() - begin < 300'000'000'000) {
    beside.push_back(hello(socket));
    const std::uint64_t beat = good.policy().heartbeat;
    oldest = std::max(oldest, static_cast<double>(now_ns() - beat) / 1e6);
  }
  const double seconds = static_cast<double>(now_ns() - begin) / 1e9;
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  print_percentiles("hello, nobody else connects", alone);
  print_percentiles(fmt::format("hello beside {} connections of another tenant", made->load()),
                    beside);
  fmt::print(
      "  {:.0f} connections a second, ratio of the medians {:.2f}, heartbeat at most {:.0f} "
      "ms old\n",
      static_cast<double>(*made) / seconds, median(beside) / median(alone), oldest);
  munmap(made, sizeof(*made));
}

// How a tenant is affected by another one whose processes all write nonsense: the time of a hello,
// and the age of the heartbeat (libraries assume a dead arbiter after 2 s without one).
void hostile_tenant(unsigned helpers) {
  const Folder folder;
  folder.promise("hostile", 0, Priority::kNormal);
  folder.promise("good", 0, Priority::kNormal);
  const SystemClock clock;
  const Log log(LogLevel::kError);
  const auto arbiter =
      arbiter::Arbiter::open({folder.tenants(), folder.state()}, clock, log).value();
  std::vector<pid_t> children;
  for (unsigned i = 0; i < helpers; ++i) {
    children.push_back(stays_registered(folder.socket("hostile")));
  }
  interpose::Session good;
  double longest_without_heartbeat = 0;
  std::vector<double> hellos;
  std::jthread serving([&](const std::stop_token& stop) { arbiter->run(stop); });
  if (good.open(folder.socket("good").c_str(), 30'000) !=
      interpose::Session::Outcome::kRegistered) {
    std::abort();
  }
  std::this_thread::sleep_for(1s);  // all have registered
  if (helpers > 0) children.push_back(fills_all_slots(folder.socket("hostile")));
  good.usage().slot[good.slot()].work[0].waiting = 1;
  std::this_thread::sleep_for(1s);
  for (int i = 0; i < 40; ++i) {
    hellos.push_back(hello(folder.socket("good")));
    for (int look = 0; look < 20; ++look) {
      const std::uint64_t beat = good.policy().heartbeat;
      const double age = static_cast<double>(now_ns() - beat) / 1e6;
      longest_without_heartbeat = std::max(longest_without_heartbeat, age);
      sleep_until(now_ns() + 1'000'000);
    }
  }
  const Cost cost = [&] {
    serving.request_stop();
    serving.join();
    return serve(*arbiter, 2s);
  }();
  print_percentiles(fmt::format("hello beside a hostile tenant of {} processes", helpers), hellos);
  fmt::print("  heartbeat at most {:.0f} ms old, {:.1f} % of a core\n", longest_without_heartbeat,
             cost.percent());
  for (const pid_t child : children) kill(child, SIGKILL);
  for (const pid_t child : children) waitpid(child, nullptr, 0);
}

unsigned number(int argc, char** argv, std::string_view flag, unsigned otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (argv[i] == flag) return static_cast<unsigned>(std::atoi(argv[i + 1]));
  }
  return otherwise;
}

}  // namespace
}  // namespace tranche

// Ignores other arguments (google-benchmark's, which tools/bench.sh gives to all).
int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  const auto tenants = tranche::number(argc, argv, "--tenants", 48);
  if (const unsigned hostile = tranche::number(argc, argv, "--hostile", 0); hostile > 0) {
    tranche::hostile_tenant(hostile);
    return 0;
  }
  if (const unsigned times = tranche::number(argc, argv, "--storm", 0); times > 0) {
    tranche::storm(times);
    return 0;
  }
  const auto time = std::chrono::seconds(tranche::number(argc, argv, "--seconds", 5));
  if (time > 0s) {
    for (const unsigned devices : {1U, 8U}) tranche::busy_tenants(tenants, devices, time);
  }
  tranche::wakes(1000);
  tranche::notices("notice to closed, arbiter awake", 5ms, 500);
  tranche::notices("notice to closed, arbiter asleep", 60ms, 100);
  for (const unsigned helpers : {0U, 100U, 400U}) tranche::hostile_tenant(helpers);
  tranche::storm(100'000);
  return 0;
}
