#pragma once
// JSON of GPU layouts in stored files: the journal, and the outcome of a wish.
//
// clang-format off
// Example (JSON):
//     {"GPU-...": {"enabled": true, "instances": [{"profile": 9, "start": 0, "size": 4,
//                                                  "compute": [3]}]}}
// clang-format on

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/json_fields.h"
#include "base/json_value.h"
#include "base/result.h"
#include "mig/layout.h"

namespace tranche::mig {

// Whether it is printable ASCII without white space, at most `longest` bytes.
bool is_layout_word(std::string_view text, std::size_t longest);

json::Value to_json(const Layout& layout);
// Refuses impossible values: too many GPUs or instances, nonsensical numbers. `error` is the one of
// `fields`.
Layout read_layout(const json::Fields& fields, std::string_view key, std::optional<Error>& error);

}  // namespace tranche::mig
