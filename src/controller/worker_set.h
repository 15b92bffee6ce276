#pragma once
// The workers of this process: those that need no leadership run as long as the set lives, the
// others while it leads. The destructor ends them, the one that began last first.
//
// Used by one thread.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/worker.h"

namespace tranche::controller {

class WorkerSet {
 public:
  // Starts those that need no leadership, which may write for ever, whatever `context` says.
  WorkerSet(std::vector<WorkerPlan> plans, WorkerContext context);
  ~WorkerSet();
  WorkerSet(const WorkerSet&) = delete;
  WorkerSet& operator=(const WorkerSet&) = delete;

  // To be called at intervals: starts or ends those that need leadership, and tells in the log, for
  // developers, whose trouble has changed.
  void follow(bool leads);

  struct Health {
    std::string name;
    bool runs = false;
    std::optional<std::string> trouble;
    bool operator==(const Health&) const = default;
  };
  // In the order of the plans.
  std::vector<Health> health() const;

 private:
  struct Place {
    WorkerPlan plan;
    std::unique_ptr<Worker> worker;  // null: does not run
  };
  void end(bool all);
  void tell_changes();

  const WorkerContext context_;
  std::vector<Place> places_;
  std::vector<Health> told_;
};

}  // namespace tranche::controller
