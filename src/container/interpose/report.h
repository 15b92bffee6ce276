#pragma once
// What this process tells the arbiter of its work, in its slot (limit/wire.h), and the rule by
// which a thread waits for its turn.

#include <cstdint>

#include "interpose/tenants.h"

namespace tranche::interpose {

// So much GPU time will be used, beyond what a turn was given for: counted against what is allowed.
void ask(const Part& part, std::uint64_t ns);
// Of what was asked for, so much has ended: from `begin` to `end`, CLOCK_MONOTONIC ns. One thread
// at a time.
void report(const Part& part, std::uint64_t begin, std::uint64_t end, std::uint32_t launches,
            std::uint64_t asked);
// The same where nothing could be measured.
void report_unmeasured(const Part& part, std::uint64_t asked);
// The oldest work that runs began then; 0: none runs.
void report_busy(const Part& part, std::uint64_t since);
// Asked for and not ended.
std::uint64_t unfinished(const Part& part);

// Asks for work of `ns` if the tenant's policy lets it go now, as it does as a rule. Of threads
// that come at once as many go as there is room for. false: wait_for_turn().
bool take_turn(const Part& part, std::uint64_t ns);
// Returns when it lets it go, and has asked for it. Never longer than the arbiter's word is good
// for: without it (kSilence) guaranteed and normal tenants go on, best-effort ones at a quarter.
// `while_waiting` is called every now and then. A signal handler may leave it by siglongjmp: the
// calling thread is then forgotten among those that wait (waiters.h).
void wait_for_turn(const Part& part, std::uint64_t ns, void (*while_waiting)());
// Forgets threads that left wait_for_turn() without a word. Now and then; any thread.
void look_after_waiters(const Part& part);

inline constexpr std::uint64_t kSilence = 2'000'000'000;  // ns

void forget_reports();

}  // namespace tranche::interpose
