#pragma once
// What the words of `tranche layout` share. Each word is a function in its own file, and a row of
// the table in layout.cpp.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/shell/command.h"
#include "config/flags/sources.h"
#include "config/programs/layout_file_options.h"
#include "config/programs/layout_options.h"
#include "gpu/mig_tables.h"

namespace tranche::cli {

struct LayoutCall {
  const Invocation& invocation;
  const Word& word;
  std::vector<std::string> arguments;  // after the word, without flags
  config::Sources sources;

  unsigned use() const { return word.uses; }
};

// Return the exit code.
int run_layout_list(const LayoutCall& call);
int run_layout_validate(const LayoutCall& call);
int run_layout_pack(const LayoutCall& call);
int run_layout_show(const LayoutCall& call);
int run_layout_assert(const LayoutCall& call);
int run_layout_apply(const LayoutCall& call);
int run_layout_export(const LayoutCall& call);
int run_layout_defaults(const LayoutCall& call);
// With --node, or --snapshot (on_node.cpp).
int run_layout_apply_on_node(const LayoutCall& call, const config::LayoutFileOptions& options);
int run_layout_show_of_node(const LayoutCall& call, const config::LayoutOptions& options);
// Whether the user agrees. `signals`: Ctrl-C means no.
bool wants_to_go_on(int signals);

// Prints what is wrong with the command line. Returns the exit code.
int refuse(const LayoutCall& call, std::string_view what);
// Prints the error of a word's work. Returns the exit code for it.
int end(const LayoutCall& call, const Error& error);

// kUnsupported: a known model without MIG; the hint says what shares it instead. kInvalidArgument:
// unknown; the hint names the nearest.
Result<const gpu::MigModel*> mig_model(std::string_view name);

}  // namespace tranche::cli
