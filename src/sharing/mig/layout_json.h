#pragma once
// Layouts of GPUs in what is stored: the journal, and what became of a wish.
//
//     {"GPU-...": {"enabled": true, "instances": [{"profile": 9, "start": 0, "size": 4,
//                                                  "compute": [3]}]}}

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/json_fields.h"
#include "base/json_value.h"
#include "base/result.h"
#include "mig/layout.h"

namespace tranche::mig {

// Printable ASCII without white space, of at most `longest` bytes.
bool is_layout_word(std::string_view text, std::size_t longest);

json::Value to_json(const Layout& layout);
// Refuses what can be none: too many GPUs or instances, numbers without sense. `error` is that of
// `fields`.
Layout read_layout(const json::Fields& fields, std::string_view key, std::optional<Error>& error);

}  // namespace tranche::mig
