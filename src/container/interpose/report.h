#pragma once
// What this process reports to the arbiter about its work, in its slot (limit/wire.h), and how a
// thread waits for its turn.

#include <cstdint>

#include "interpose/tenants.h"

namespace tranche::interpose {

// `ns` of GPU time will be used beyond what was admitted: counted against the allowance.
void ask(const Part& part, std::uint64_t ns);
// Part of the asked time has ended: from `begin` to `end`, CLOCK_MONOTONIC ns. Only one thread at a
// time.
void report(const Part& part, std::uint64_t begin, std::uint64_t end, std::uint32_t launches,
            std::uint64_t asked);
// The same if nothing could be measured.
void report_unmeasured(const Part& part, std::uint64_t asked);
// The oldest running work began then; 0: none is running.
void report_busy(const Part& part, std::uint64_t since);
// Asked for but not ended.
std::uint64_t unfinished(const Part& part);

// Asks for work of `ns` if the tenant's policy admits it now, as it usually does. Of concurrent
// threads as many go as there is room for. false: call wait_for_turn().
bool take_turn(const Part& part, std::uint64_t ns);
// Returns when the policy admits it, having asked for it. Never waits longer than the arbiter's
// word is valid: without it (kSilence) guaranteed and normal tenants continue, best-effort ones at
// a quarter. `while_waiting` is called periodically. A signal handler may leave it by siglongjmp:
// the calling thread is then dropped from the waiting ones (waiters.h).
void wait_for_turn(const Part& part, std::uint64_t ns, void (*while_waiting)());
// Drops threads that left wait_for_turn() without notice. Call it periodically; any thread.
void look_after_waiters(const Part& part);

inline constexpr std::uint64_t kSilence = 2'000'000'000;  // ns without a word of the arbiter

void forget_reports();

}  // namespace tranche::interpose
