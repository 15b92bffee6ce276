#pragma once
// The table at the end: before and after, per node and in all. Pure.

#include <string>
#include <vector>

namespace tranche::demo {

struct Summary {
  struct Row {
    std::string node;
    std::string gpu;
    int before = 0;  // schedulable nvidia.com/gpu without sharing
    int any = 0;     // with the key any
    int sized = 0;   // with the keys l20 and t4
  };
  std::vector<Row> nodes;
  // Pods that run and that are Pending.
  int running_before = 0;
  int running_after = 0;
  int pending_before = 0;
  int pending_after = 0;
};

// The heading first, then the nodes, their total, the Pods.
std::vector<std::string> summary_lines(const Summary& summary);

}  // namespace tranche::demo
