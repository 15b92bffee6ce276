#pragma once
// The MIG profiles of the known models, as tables in the program: names, sizes and placements by
// model key ("a100-40gb"). The values are those of tests/data/mig-profiles.yaml, which has the
// source of each; tests/sim/test_mig_tables.py compares the two. A new model is a table and a line
// in kTables. Constant data.

#include <cstdint>
#include <span>
#include <string_view>

namespace tranche::sim {

struct MigRow {
  std::string_view name;
  std::uint32_t constant;  // NVML_GPU_INSTANCE_PROFILE_*
  std::uint32_t id;
  std::uint32_t slices;         // compute
  std::uint32_t memory_slices;  // of one placement
  std::uint32_t starts;         // bit n: a placement may begin at memory slice n
  std::uint32_t max_instances;
  std::uint32_t memory_mib;
  std::uint32_t sm;
  std::uint32_t copy_engines;
  std::uint32_t decoders;
  std::uint32_t encoders;
  std::uint32_t jpeg;
  std::uint32_t ofa;
};

struct MigTable {
  std::string_view key;
  std::uint32_t compute_slices;
  std::uint32_t memory_slices;
  bool mode_needs_reset;
  std::span<const MigRow> rows;
};

// nullptr if the key is unknown.
const MigTable* find_mig_table(std::string_view key);
std::span<const MigTable> mig_tables();

}  // namespace tranche::sim
