#pragma once
// Advances the ops of all streams of the process, and waits for them.
//
// Any thread that waits, queries or enqueues executes what is due (pump). A thread of the library
// does it when no other would: it copies bytes at the end of a copy, runs host functions, forwards
// work that waited for something else, and records when events happened. It sleeps until the next
// of these is due, starts with the first op that needs it, and has all signals blocked.

#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "sim/cuda/stream.h"
#include "sim/state/clock.h"

namespace tranche::sim::cuda {

class Executor {
 public:
  using Lock = std::unique_lock<std::mutex>;

  // `mutex` is the driver's lock.
  Executor(Clock& clock, std::mutex& mutex) : clock_(clock), mutex_(mutex) {}
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Queues `op` after everything that must precede it by the rules of streams. Blocks when the
  // stream holds as many ops as the hardware's queue.
  void enqueue(Lock& lock, const StreamPtr& stream, const OpPtr& op);
  // Executes whatever is due now.
  void pump(Lock& lock);
  // Waits until `over` is true. The lock is released meanwhile.
  void wait(Lock& lock, const std::function<bool()>& over);
  // Drops everything queued in the context's streams, as if it were over.
  void cancel(const std::vector<StreamPtr>& streams);
  // True on a thread that runs a host function: CUDA calls are refused there.
  static bool is_in_host_function();

 private:
  struct Due {
    std::uint64_t time_ns;
    bool contended = false;
  };

  bool advance(Lock& lock, Stream& stream);
  bool finish(Lock& lock, Stream& stream);
  bool finish_in_lane(Stream& stream);
  bool submit(Stream& stream, Op& op, const Op* before);
  static std::uint64_t submit_work(Context& context, const Op& op, const Op* before);
  void run_effect(Lock& lock, Op& op);
  void branch(Stream& stream);
  void sleep(Lock& lock, const Due& due, std::uint32_t turn);
  void pop(Stream& stream, std::uint64_t end_ns);
  void add_dependencies(Stream& stream, Op& op);
  Due next_due();
  Due due_of(const Stream& stream);
  void need_service(Stream& stream, Op& op);
  bool is_service_needed() const;
  bool run_host_functions(Lock& lock);
  void start_worker();
  void work();

  Clock& clock_;
  std::mutex& mutex_;
  std::vector<StreamPtr> busy_;
  unsigned sleepers_ = 0;  // waiting threads, including the worker
  bool has_worker_ = false;
  bool worker_idles_ = false;
  std::uint64_t worker_until_ns_ = 0;
  // Branches that are due later wait for the next pass over the streams. Otherwise a loop whose
  // turns take less time than that pass would never release the lock.
  std::uint64_t branch_until_ns_ = 0;
};

}  // namespace tranche::sim::cuda
