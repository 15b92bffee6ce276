#pragma once
// The table of labels: the meaning of each and when it is present. render_reference makes
// docs/reference/labels.md from it. Tests compare both with make_labels.

#include <span>
#include <string>
#include <string_view>

namespace tranche::labels {

struct LabelDoc {
  std::string_view key;  // "nvidia.com/..."; <profile> stands for a MIG profile,
                         // <resource> for a resource's name
  std::string_view value;
  std::string_view when;  // empty: on every node with a GPU
};

// In the order of the page.
std::span<const LabelDoc> label_table();

// The row that describes `key`; nullptr when there is none.
const LabelDoc* find_label(std::string_view key);

// The page docs/reference/labels.md.
std::string render_reference();

}  // namespace tranche::labels
