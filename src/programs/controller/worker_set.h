#pragma once
// The workers of this process. Those that need no leadership run as long as the set lives, the
// others while this process leads. The destructor ends them in reverse order.
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
  // Starts the workers that need no leadership. `context.time_left` does not limit these.
  WorkerSet(std::vector<WorkerPlan> plans, WorkerContext context);
  ~WorkerSet();
  WorkerSet(const WorkerSet&) = delete;
  WorkerSet& operator=(const WorkerSet&) = delete;

  // Call it at intervals. Starts or ends the workers that need leadership, and logs, at debug
  // level, whose trouble has changed.
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
    std::unique_ptr<Worker> worker;  // null: the worker does not run
  };
  void end_leading();  // those that need leadership
  void end_all();
  void tell_changes();

  const WorkerContext context_;
  std::vector<Place> places_;
  std::vector<Health> told_;
};

}  // namespace tranche::controller
