#include "agent/holdings/holder_answers.h"

#include <utility>

namespace tranche::agent {

Result<HolderAnswers::Answer> HolderAnswers::get(std::chrono::milliseconds age) {
  std::unique_lock lock(mutex_);
  const auto came = clock_.now();
  const auto before = begun_;  // number of the last question that may be too early
  const auto is_young = [&] {
    if (ended_ > before) return true;
    return ended_ > 0 && age > kNow && last_began_ + age >= came;
  };
  answered_.wait(lock, [&] { return is_young() || begun_ == ended_; });
  if (is_young()) return last_;
  const auto question = ++begun_;
  lock.unlock();
  const auto began = clock_.now();
  auto answer = ask();
  lock.lock();
  last_ = answer;
  last_began_ = began;
  ended_ = question;
  answered_.notify_all();
  return answer;
}

HolderAnswers::Answer HolderAnswers::last() const {
  const std::scoped_lock lock(mutex_);
  return last_.value_or(nullptr);
}

Result<HolderAnswers::Answer> HolderAnswers::ask() const {
  const auto began = clock_.now();
  ASSIGN_OR_RETURN(auto listed, kubelet_.list());
  return std::make_shared<const HolderAnswer>(HolderAnswer{
      .began = began, .listed = std::move(listed.devices), .remembered = kubelet_.remembered()});
}

}  // namespace tranche::agent
