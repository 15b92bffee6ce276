#pragma once
// Runs one scenario under several sharing mechanisms, one after another on the same GPU. The
// scenario has a latency-critical process next to best-effort ones. It also shows what happens to a
// process when its neighbour requests all memory, is killed, or makes an invalid memory access.

#include <optional>
#include <string>
#include <vector>

#include "load/mechanism.h"

namespace tranche::load {

enum class Trouble : std::uint8_t { kMemory, kKill, kFault };

std::string_view name_of(Trouble trouble);
// Parses "memory,kill,fault" or "none". kInvalidArgument: anything else.
Result<std::vector<Trouble>> parse_troubles(std::string_view text);

struct Scenario {
  Load request;    // the latency-critical process; its duration is that of each measurement
  Load neighbour;  // each best-effort process
  unsigned neighbours = 2;
  Load victim;  // the process next to the offender
  std::vector<Trouble> troubles;
  std::vector<Mechanism> mechanisms;
  MechanismOptions options;
};

// The reports of a process that caused trouble (the offender) and of the process next to it (the
// victim).
struct TroubleResult {
  Trouble trouble = Trouble::kMemory;
  Report offender;
  Report victim;
};

struct MechanismResult {
  Mechanism mechanism = Mechanism::kTimeSlicing;
  std::string unavailable;  // why the mechanism is not available; empty: it is
  Report request;
  std::vector<Report> neighbours;
  std::vector<TroubleResult> troubles;
};

struct Comparison {
  DeviceInfo device;
  Report request_alone;
  Report neighbour_alone;
  std::vector<MechanismResult> results;
};

// kNotFound: no driver or no such device. kFailedPrecondition: interrupted. Errors of single
// processes are in their reports.
Result<Comparison> compare(WorkerGroup& workers, Scenario scenario);

}  // namespace tranche::load
