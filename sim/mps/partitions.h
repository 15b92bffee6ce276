#pragma once
// Static SM partitions: a GPU's multiprocessors in chunks (8 from Hopper on, 4 on Ampere and
// Ada, by NVIDIA's documentation), each chunk in at most one partition. The value of
// CUDA_MPS_SM_PARTITION is invented except for its form and, like NVIDIA's, differs by
// protocol.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/state/state.h"

namespace tranche::sim::mps {

// A CUDA error: a client without a partition although every client needs one.
inline constexpr std::uint32_t kInvalidResourceConfiguration = 915;

struct Partition {
  std::string server;  // empty: for protocol 2
  std::string name;    // for protocol 3
  std::uint32_t gpu = 0;
  unsigned first = 0;  // chunk
  unsigned chunks = 0;
  std::string value;  // the part after the slash of CUDA_MPS_SM_PARTITION
};

class Partitions {
 public:
  Partitions(const State& state, unsigned protocol) : state_(state), protocol_(protocol) {}

  unsigned multiprocessors_of_chunk(std::uint32_t gpu) const;
  unsigned total(std::uint32_t gpu) const;  // chunks; 0: before Ampere
  unsigned used(std::uint32_t gpu) const;

  // kUnsupported, kAlreadyExists (a name), kFailedPrecondition (not enough consecutive chunks).
  Result<Partition> add(const std::string& server, const std::string& name, std::uint32_t gpu,
                        unsigned chunks);
  // By name or by value. False: it does not exist.
  bool remove(std::uint32_t gpu, std::string_view name_or_value);
  bool has_any(std::uint32_t gpu) const;
  // The part of the GPU for a client that passes this value ("GPU-.../value"); 0: no partition
  // there.
  std::uint32_t permille(std::uint32_t gpu, std::string_view said) const;

  const std::vector<Partition>& all() const { return all_; }

 private:
  bool is_free(std::uint32_t gpu, unsigned chunk) const;
  const State& state_;
  unsigned protocol_;
  std::vector<Partition> all_;
};

}  // namespace tranche::sim::mps
