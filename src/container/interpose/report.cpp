#include "interpose/report.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "interpose/system.h"
#include "interpose/uncancelled.h"
#include "interpose/waiters.h"

namespace tranche::interpose {

using namespace limit;

namespace {

constexpr std::uint64_t kLook = 100'000'000;     // ns: the longest sleep without a wake-up
constexpr std::uint64_t kLookInFlight = 30'000;  // while it depends on work of our own
constexpr std::uint64_t kLongestPenalty = 300'000'000;
constexpr std::uint64_t kRound = 500'000'000;  // of waiters.h; longer than kLook

std::atomic<std::uint64_t> unfinished_ns[kMaxParts];
// Threads at the gate. Counted here and reported in the slot, because the next arbiter may give an
// empty one.
Waiters waiters[kMaxParts];
std::atomic<std::uint64_t> round_began[kMaxParts];

wire::Word& spent(const Part& part) { return part.tenant->session.usage().spent_ns[part.device]; }

// Counted in the process and in its slot; the tenant's sum already includes it. That sum is first,
// because an arbiter that sees less there than in the slots considers it forged.
void enter(const Part& part, std::uint64_t ns) {
  part.slot().work[part.device].asked_ns.fetch_add(ns, std::memory_order_relaxed);
}

// Adds only if the word is below the bound: of concurrent threads one exceeds it.
bool add_below(std::atomic<std::uint64_t>& word, std::uint64_t bound, std::uint64_t ns) {
  std::uint64_t now = word.load(std::memory_order_relaxed);
  do {
    if (now >= bound) return false;
  } while (!word.compare_exchange_weak(now, now + ns, std::memory_order_relaxed));
  return true;
}

// Asks for `ns` if the policy admits it now.
bool try_ask(const Part& part, std::uint64_t ns) {
  const wire::DevicePolicy& policy = part.policy();
  if (policy.closed.load(std::memory_order_acquire) != 0) return false;
  const std::uint32_t in_flight = policy.in_flight_ns.load(std::memory_order_relaxed);
  std::atomic<std::uint64_t>& unended = unfinished_ns[part.number];
  if (!add_below(unended, in_flight != 0 ? in_flight : wire::kNoLimit, ns)) return false;
  if (!add_below(spent(part), policy.allowed_ns.load(std::memory_order_acquire), ns)) {
    unended.fetch_sub(ns, std::memory_order_relaxed);
    return false;
  }
  enter(part, ns);
  return true;
}

// Repeats until the reported value is current: if two threads report at once, the later word stays.
void tell_waiters(const Part& part) {
  const Waiters& here = waiters[part.number];
  std::uint32_t told = 0;
  do {
    told = here.count();
    part.slot().work[part.device].waiting.store(told);
  } while (told != here.count());
}

bool is_told(const Part& part) {
  return part.slot().work[part.device].waiting.load() == waiters[part.number].count();
}

// One of the threads that find it over begins the next.
void begin_round_when_due(const Part& part) {
  const std::uint64_t now = now_ns();
  std::uint64_t began = round_began[part.number].load(std::memory_order_relaxed);
  if (now - began < kRound) return;
  if (round_began[part.number].compare_exchange_strong(began, now)) {
    waiters[part.number].next_round();
  }
}

// The calling thread waits at the gate while this object lives.
class Waiter {
 public:
  explicit Waiter(const Part& part) : part_(part), round_(waiters[part.number].enter()) {
    tell_waiters(part);
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter() {
    waiters[part_.number].leave(round_);
    tell_waiters(part_);
  }
  // Also after the process has registered again.
  void say_so_again() {
    begin_round_when_due(part_);
    round_ = waiters[part_.number].stay(round_);
    if (!is_told(part_)) tell_waiters(part_);
  }

 private:
  const Part& part_;
  Waiters::Round round_;
};

void sleep_on(const wire::Half& word, std::uint32_t value, std::uint64_t ns) {
  const timespec time{0, static_cast<long>(ns)};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, &time, nullptr, 0);
}

// Reports that a thread waits, if the arbiter does not check by itself.
void call_arbiter(const Part& part) {
  const Undisturbed undisturbed;
  const Guard guard(part.tenant->lock);
  part.tenant->session.notify(wire::Message::kWaiting, part.device);
}

bool is_awake(const Part& part) {
  return part.tenant->policy().awake.load(std::memory_order_acquire) != 0;
}

bool is_silent(const Part& part, std::uint64_t since) {
  const std::uint64_t beat = part.tenant->policy().heartbeat.load(std::memory_order_relaxed);
  const std::uint64_t last = beat > since ? beat : since;
  const std::uint64_t now = now_ns();
  return now > last && now - last > kSilence;
}

Priority priority(const Part& part) {
  return static_cast<Priority>(part.tenant->policy().priority.load(std::memory_order_relaxed));
}

// Once the arbiter was found silent, no thread waits for it again until it has responded.
std::atomic<std::uint64_t> silent_beat[kMaxParts];

bool is_known_silent(const Part& part) {
  const std::uint64_t then = silent_beat[part.number].load(std::memory_order_relaxed);
  return then != 0 && then == part.tenant->policy().heartbeat.load(std::memory_order_relaxed) + 1;
}

// Three parts of waiting to one of work: a quarter.
std::uint64_t penalty(const Part& part, std::uint64_t ns) {
  if (priority(part) != Priority::kBestEffort) return 0;
  return 3 * ns < kLongestPenalty ? 3 * ns : kLongestPenalty;
}

// Naps if necessary, with the program's own cancellation state restored.
void go_without(const Part& part, std::uint64_t ns) {
  silent_beat[part.number].store(
      part.tenant->policy().heartbeat.load(std::memory_order_relaxed) + 1,
      std::memory_order_relaxed);
  if (const std::uint64_t nap = penalty(part, ns); nap != 0) nap_ns(nap);
  ask(part, ns);
}

}  // namespace

void ask(const Part& part, std::uint64_t ns) {
  spent(part).fetch_add(ns, std::memory_order_relaxed);
  unfinished_ns[part.number].fetch_add(ns, std::memory_order_relaxed);
  enter(part, ns);
}

std::uint64_t unfinished(const Part& part) {
  return unfinished_ns[part.number].load(std::memory_order_relaxed);
}

void report(const Part& part, std::uint64_t begin, std::uint64_t end, std::uint32_t launches,
            std::uint64_t asked) {
  wire::Slot& slot = part.slot();
  const std::uint64_t number = slot.written.load(std::memory_order_relaxed);
  slot.ring[number % wire::kRing] = {begin, end, part.device, launches, asked};
  slot.written.store(number + 1, std::memory_order_release);
  slot.work[part.device].measured_ns.fetch_add(end - begin, std::memory_order_relaxed);
  slot.work[part.device].ended_ns.fetch_add(asked, std::memory_order_relaxed);
  const std::uint64_t each = launches != 0 ? (end - begin) / launches : 0;
  if (each > slot.longest_ns.load(std::memory_order_relaxed)) {
    slot.longest_ns.store(each, std::memory_order_relaxed);
  }
  unfinished_ns[part.number].fetch_sub(asked, std::memory_order_relaxed);
}

void report_unmeasured(const Part& part, std::uint64_t asked) {
  const std::uint64_t now = now_ns();
  report(part, now, now, 0, asked);
}

void report_busy(const Part& part, std::uint64_t since) {
  part.slot().work[part.device].busy_since.store(since, std::memory_order_relaxed);
}

bool take_turn(const Part& part, std::uint64_t ns) {
  if (!part.tenant->is_limited()) {
    ask(part, ns);
    return true;
  }
  // A latency-critical tenant reports its begin, so that others make room.
  const bool begins = unfinished(part) == 0;
  if (begins && priority(part) == Priority::kLatencyCritical) call_arbiter(part);
  if (try_ask(part, ns)) return true;
  if (!is_known_silent(part) || penalty(part, ns) != 0) return false;
  ask(part, ns);
  return true;
}

void wait_for_turn(const Part& part, std::uint64_t ns, void (*while_waiting)()) {
  if (is_known_silent(part)) return go_without(part, ns);  // no arbiter sees it wait
  // Before `turn` is read: a thread that is not seen waiting sees the change.
  Waiter waiter(part);
  const std::uint64_t since = now_ns();
  const wire::DevicePolicy& policy = part.policy();
  for (;;) {
    waiter.say_so_again();
    const std::uint32_t turn = policy.turn.load();
    if (try_ask(part, ns)) return;
    if (!is_awake(part)) call_arbiter(part);
    const bool on_own_work =
        policy.in_flight_ns.load(std::memory_order_relaxed) != 0 && unfinished(part) != 0;
    sleep_on(policy.turn, turn, on_own_work ? kLookInFlight : kLook);
    while_waiting();
    if (is_silent(part, since)) {
      go_without(part, ns);
      return;
    }
  }
}

void look_after_waiters(const Part& part) {
  if (waiters[part.number].count() == 0) return;
  begin_round_when_due(part);
  if (!is_told(part)) tell_waiters(part);
}

void forget_reports() {
  for (auto& n : unfinished_ns) n.store(0, std::memory_order_relaxed);
  for (auto& n : silent_beat) n.store(0, std::memory_order_relaxed);
  for (Waiters& here : waiters) here.reset();
}

}  // namespace tranche::interpose
