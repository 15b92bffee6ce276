// For each call: a thread makes it while being cancelled, then another one makes it too. Only calls
// in which the simulated driver tolerates cancellation.
#include <pthread.h>
#include <unistd.h>

#include <functional>

#include "cuda_calls.h"

extern "C" int cuCtxDestroy_v2(void* context);
extern "C" int cuMemAllocAsync(std::uint64_t* address, std::size_t bytes, void* stream);

namespace {

Cuda* cuda;
void* kernel;

struct Call {
  const char* name;
  std::function<void()> make;
};
const Call kCalls[] = {
    {"context",
     [] {
       void* context = nullptr;
       OK(cuCtxCreate_v2(&context, 0, 0));
       OK(cuCtxDestroy_v2(context));
     }},
    {"allocations",
     [] {
       std::uint64_t address = 0;
       OK(cuMemAlloc_v2(&address, kMiB));
       OK(cuMemFree_v2(address));
       OK(cuMemAllocAsync(&address, kMiB, nullptr));
       OK(cuMemFree_v2(address));
     }},
    {"launch",
     [] {
       OK(Cuda::spin(kernel, 10'000));
       OK(cuCtxSynchronize());
     }},
    {"launches that wait",
     [] {
       for (int i = 0; i < 5; ++i) OK(Cuda::spin(kernel, 1'000'000));
     }},
};

// Before the process has registered, then after.
constexpr int kFirst = 0;

// Returns when the thread has ended: cancelled in the call, or after it.
void make_cancelled(const Call& call) {
  pthread_t thread{};
  const auto body = [](void* argument) -> void* {
    if (cuda != nullptr) OK(cuCtxSetCurrent(cuda->context));
    pthread_cancel(pthread_self());
    static_cast<const Call*>(argument)->make();
    pthread_testcancel();
    return nullptr;
  };
  void* result = nullptr;
  OK(pthread_create(&thread, nullptr, body, const_cast<Call*>(&call)));
  OK(pthread_join(thread, &result));
  expect(result == PTHREAD_CANCELED, 1, "cancelled");
}

}  // namespace

int main() {
  alarm(30);
  OK(cuInit(0));
  make_cancelled(kCalls[kFirst]);
  cuda = new Cuda();
  kernel = cuda->spin_kernel();
  for (int round = 0; round < 20; ++round) {
    for (const Call& call : kCalls) {
      std::fprintf(stderr, "%s\n", call.name);
      make_cancelled(call);
      call.make();
    }
  }
  std::puts("fine");
}
