#pragma once
// The library's one thread, in processes that have a tenant and use the GPU: it reports work that
// has ended, closes batches that stand, and registers again when the arbiter has been replaced. It
// sleeps while there is no work, but for a look each second.
//
// What it does is handed in: the gate calls the helper, so the helper cannot know the gate.

namespace tranche::interpose {

struct HelperTasks {
  bool (*has_work)();
  void (*look_after_work)();  // often, while there is work
  void (*each_second)();
};

// Once; later calls do nothing. Where no thread can be made, those that wait do its work.
void start_helper(const HelperTasks& tasks);
// There is work to look after.
void call_helper();
void forget_helper();

}  // namespace tranche::interpose
