#pragma once
// Prints the results of a run, as a table for people and as JSON for programs.

#include <string>
#include <vector>

#include "load/compare.h"

namespace tranche::load {

struct Outcome {
  DeviceInfo device;
  std::vector<Report> reports;
};

std::string render_table(const Outcome& outcome);
std::string render_table(const Comparison& comparison);
// Times in nanoseconds, sizes in bytes.
std::string render_json(const Outcome& outcome);
std::string render_json(const Comparison& comparison);

}  // namespace tranche::load
