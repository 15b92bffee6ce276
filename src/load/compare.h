#pragma once
// One scenario under several ways of sharing, one after the other on the same GPU: a
// latency-critical process beside best-effort ones, and what becomes of a process when its
// neighbour asks for all the memory, is killed, or makes a bad memory access.

#include <optional>
#include <string>
#include <vector>

#include "load/mechanism.h"

namespace tranche::load {

enum class Trouble : std::uint8_t { kMemory, kKill, kFault };

std::string_view name_of(Trouble trouble);
// "memory,kill,fault"; "none". kInvalidArgument.
Result<std::vector<Trouble>> parse_troubles(std::string_view text);

struct Scenario {
  Load request;    // of the latency-critical process; its duration is that of each measurement
  Load neighbour;  // of each best-effort process
  unsigned neighbours = 2;
  Load victim;  // of the one beside trouble
  std::vector<Trouble> troubles;
  std::vector<Mechanism> mechanisms;
  MechanismOptions options;
};

// What a process that makes trouble got, and what became of the one beside it.
struct TroubleResult {
  Trouble trouble = Trouble::kMemory;
  Report offender;
  Report victim;
};

struct MechanismResult {
  Mechanism mechanism = Mechanism::kTimeSlicing;
  std::string unavailable;  // why it is not; else empty
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

// kNotFound: no driver or no such device. kFailedPrecondition: interrupted. Whatever befalls single
// processes is in the results.
Result<Comparison> compare(WorkerGroup& workers, Scenario scenario);

}  // namespace tranche::load
