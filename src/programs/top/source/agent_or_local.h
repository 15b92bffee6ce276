#pragma once
// A source that asks one, and if that does not answer from the start, another.

#include <memory>

#include "top/source/source.h"

namespace tranche::top {

// The agent of this machine, and without it the driver. Which one answered first stays.
class AgentOrLocal final : public Source {
 public:
  AgentOrLocal(std::unique_ptr<Source> agent, std::unique_ptr<Source> local)
      : agent_(std::move(agent)), local_(std::move(local)) {}

  Result<Reading> read(const std::stop_token& stop) override;
  std::string name() const override {
    return chosen_ == nullptr ? agent_->name() : chosen_->name();
  }
  std::string note() const override {
    return chosen_ == local_.get() ? "without an agent: no Pods' names" : "";
  }

 private:
  const std::unique_ptr<Source> agent_;
  const std::unique_ptr<Source> local_;
  Source* chosen_ = nullptr;  // null: none has answered
};

}  // namespace tranche::top
