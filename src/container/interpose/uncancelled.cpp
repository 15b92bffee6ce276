#include "interpose/uncancelled.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "interpose/elf_symbols.h"

namespace tranche::interpose {
namespace {

using SetState = int (*)(int state, int* before);
constexpr int kDisabled = 1;  // PTHREAD_CANCEL_DISABLE

int set_nothing(int, int*) { return 0; }

// The C library's; in some versions it is in another of its libraries.
SetState set_state() {
  static std::atomic<SetState> known;
  SetState found = known.load(std::memory_order_relaxed);
  if (found != nullptr) return found;
  found = reinterpret_cast<SetState>(of_libc("pthread_setcancelstate"));
  if (found == nullptr) found = set_nothing;
  known.store(found, std::memory_order_relaxed);
  return found;
}

// A fault must reach its handler, on which others than the program rely.
constexpr std::uint64_t bit(int signal) { return std::uint64_t{1} << (signal - 1U); }
constexpr std::uint64_t kDeferred =
    ~(bit(SIGSEGV) | bit(SIGBUS) | bit(SIGFPE) | bit(SIGILL) | bit(SIGTRAP) | bit(SIGSYS));

// Not sigprocmask, which a sanitizer may have replaced.
void set_mask(const std::uint64_t& mask, std::uint64_t* before) {
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, before, sizeof(mask));
}

}  // namespace

Uncancelled::Uncancelled() : before_(0) { set_state()(kDisabled, &before_); }
Uncancelled::~Uncancelled() { pause(); }
void Uncancelled::pause() { set_state()(before_, nullptr); }
void Uncancelled::go_on() { set_state()(kDisabled, &before_); }

Undisturbed::Undisturbed() : before_(0) { set_mask(kDeferred, &before_); }
Undisturbed::~Undisturbed() { set_mask(before_, nullptr); }

}  // namespace tranche::interpose
