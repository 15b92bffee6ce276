#pragma once
// What the driver needs to know of PTX text: entry points, their parameters and limits, and the
// variables. Instructions are ignored: a kernel only takes its time here, and does what comment
// lines before the entry declare:
//
//     // tranche-sim: duration-ns = param 0
//                       the value of its first parameter (u32 or u64)
//     // tranche-sim: duration-ns = 20000
//                       always that
//     // tranche-sim: duration-ns = 20000 per-block
//                       for every block that a multiprocessor runs after another
//     // tranche-sim: duration-ns = param 0 beside-others
//                       takes only the multiprocessors that its blocks need, not the whole GPU
//     // tranche-sim: set-conditional = param 1 value param 2
//                       sets the value of the conditional node whose handle (u64) is parameter 1
//     // tranche-sim: set-conditional = param 1 word param 2
//                       the same, to the 32-bit word at that address
//     // tranche-sim: set-conditional = param 1 count-down param 2
//                       the same, after subtracting one from the word, unless that is 0
//
// On a GPU it is a comment, and the kernel's instructions decide.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tranche::sim::cuda {

struct PtxParameter {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
};

struct Duration {
  std::optional<unsigned> parameter;  // whose value it is
  std::uint64_t ns = 5000;            // otherwise; the default without a declaration (invented)
  bool per_block = false;
  bool beside_others = false;
};

// What cudaGraphSetConditional does on a GPU, at the kernel's end.
struct SetsConditional {
  enum class From { kValue, kWord, kCountDown };
  unsigned handle = 0;  // parameter
  From from = From::kValue;
  unsigned value = 0;  // parameter
};

struct PtxEntry {
  std::string name;
  std::vector<PtxParameter> parameters;
  Duration duration;
  std::optional<SetsConditional> sets_conditional;
  unsigned most_threads = 1024;    // .maxntid, .reqntid
  std::uint32_t shared_bytes = 0;  // declared in its body
  std::uint64_t local_bytes = 0;   // of one thread, declared in its body

  std::uint32_t parameter_bytes() const;
};

struct PtxVariable {
  std::string name;
  std::uint64_t size = 0;
  bool is_managed = false;
};

struct PtxModule {
  unsigned version = 0;  // 87: PTX 8.7
  unsigned target = 0;   // 80: sm_80
  std::vector<PtxEntry> entries;
  std::vector<PtxVariable> variables;
};

// Whether this looks like PTX, that is, text with a .version.
bool is_ptx(std::string_view text);
// kInvalidArgument with the line.
Result<PtxModule> parse_ptx(std::string_view text);

}  // namespace tranche::sim::cuda
