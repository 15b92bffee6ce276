#pragma once
// What the words of `tranche layout` print in the same way: pictures and documents of layouts.

#include <map>
#include <string>
#include <vector>

#include "base/json_value.h"
#include "cli/layout/words.h"
#include "config/programs/layout_options.h"
#include "config/programs/output_form.h"
#include "mig/picture.h"

namespace tranche::cli {

// Of kJson and kYaml.
config::OutputForm form_of(config::LayoutOptions::Output output);

// Whether standard output is coloured: a capable terminal, and no NO_COLOR (https://no-color.org).
bool is_coloured(const std::map<std::string, std::string>& environment);

// Adds "migEnabled", "instances" and the stranded slices to an object of a document.
json::Value with_layout(json::Value object, const mig::GpuLayout& layout,
                        const gpu::MigGeometry& geometry);

// Prints what --output selects: the picture with `notes` below it, or the document. Writes the file
// of --svg. Returns `code`, or the exit code of an error.
int print(const LayoutCall& call, const config::LayoutOptions& options,
          const std::vector<mig::PicturedGpu>& gpus, const json::Value& document,
          const std::string& notes, int code);

}  // namespace tranche::cli
