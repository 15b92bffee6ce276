#pragma once
// Renews the controllers' Lease on a thread of its own (elector.h). The destructor releases the
// Lease.

#include <chrono>
#include <thread>

#include "controller/elector.h"
#include "controller/worker.h"

namespace tranche::controller {

class Candidate {
 public:
  Candidate(const WorkerContext& context, const Elector::Options& options);
  ~Candidate();
  Candidate(const Candidate&) = delete;
  Candidate& operator=(const Candidate&) = delete;

  const Elector& elector() const { return elector_; }

 private:
  Elector elector_;
  const std::chrono::seconds retry_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace tranche::controller
