#include "interpose/first_context.h"

#include "interpose/released.h"

namespace tranche::interpose {

using namespace limit;

namespace {

// Contexts take some 100 MiB to 600 MiB. On a small part, an amount that lets others start.
constexpr std::uint64_t kGuess = std::uint64_t{256} << 20U;
constexpr std::uint64_t kOfLimit = 4;

std::uint64_t guess_for(const wire::DevicePolicy& policy) {
  const std::uint64_t limit = policy.memory_limit.load(std::memory_order_relaxed);
  const bool is_read = policy.readings.load(std::memory_order_relaxed) != 0;
  if (limit == wire::kNoLimit || !is_read) return 0;
  return limit / kOfLimit < kGuess ? limit / kOfLimit : kGuess;
}

}  // namespace

FirstContext::FirstContext(const Part* part) {
  if (part == nullptr || part->rule != Part::Rule::kTenant) return;
  part_ = part;
  guess_ = guess_for(part->policy());
  const std::uint64_t limit = part->policy().memory_limit.load(std::memory_order_relaxed);
  const std::uint64_t held = guess_ != 0 ? part->ledger().held(part->device) : 0;
  if (wire::add(held, guess_) > limit) wait_for_released(*part, guess_);
}

void FirstContext::charge() {
  if (guess_ == 0) return;
  part_->ledger().charge_anyway(part_->device, guess_);
  is_charged_ = true;
}

void FirstContext::made() {
  if (is_charged_) give_back_once_reported(*part_, guess_);
  is_charged_ = false;
}

FirstContext::~FirstContext() {
  if (is_charged_) give_back(*part_, guess_);
}

}  // namespace tranche::interpose
