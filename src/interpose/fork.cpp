#include "interpose/fork.h"

#include <atomic>

#include "interpose/arrays.h"
#include "interpose/gate.h"
#include "interpose/helper.h"
#include "interpose/launches.h"
#include "interpose/memory.h"
#include "interpose/pools.h"
#include "interpose/tenants.h"

// In every glibc of ours, where pthread_atfork is in a library that a program may not have.
extern "C" int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(), void* dso);
extern "C" void* __dso_handle;

namespace tranche::interpose {
namespace {

void begin_anew() {
  forget_gate();
  forget_helper();
  forget_pools();
  forget_memory();
  forget_arrays();
  forget_graphs();
  forget_tenants();
}

}  // namespace

void watch_for_forks() {
  static std::atomic<bool> is_watching;
  if (!is_watching.exchange(true)) {
    __register_atfork(nullptr, nullptr, begin_anew, static_cast<void*>(&__dso_handle));
  }
}

}  // namespace tranche::interpose
