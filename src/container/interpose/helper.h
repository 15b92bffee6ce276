#pragma once
// The library's single thread, in processes that have a tenant and use the GPU: it reports finished
// work, closes idle batches, and registers again when the arbiter has been replaced. It sleeps
// while there is no work, except for a check every second.
//
// Its tasks are passed in: the gate calls the helper, so the helper cannot depend on the gate.

namespace tranche::interpose {

struct HelperTasks {
  bool (*has_work)();
  void (*look_after_work)();  // often, while there is work
  void (*each_second)();
};

// Later calls do nothing. If no thread can be created, waiting threads do its work.
void start_helper(const HelperTasks& tasks);
// There is work to look after.
void call_helper();
void forget_helper();

}  // namespace tranche::interpose
