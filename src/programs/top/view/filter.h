#pragma once
// The filter language of `tranche top`:
//
//     mem>8Gi & ns=team* & !(mechanism=mig | mechanism=mps)
//
// A term is FIELD OPERATOR VALUE, or a word, which any name of the row contains. `&`, `|`, `!` and
// parentheses join terms; `&` binds closer than `|`. Texts are compared with = and != and may have
// the wildcards * and ?; numbers also with < <= > >=. Amounts of memory have a unit (8Gi, 512Mi),
// shares and utilisation are percent (50 or 50%). `FIELD=?` is true where the number is unknown;
// every other comparison with an unknown number is false.
//
// A container, and a process in no container that is shown, is shown if the filter is true of it
// with the GPU and node that it is on. GPUs and nodes are shown with what is shown on them, or if
// it is true of themselves.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "top/view/filter_node.h"
#include "top/view/row.h"

namespace tranche::top {

class Filter {
 public:
  static constexpr std::size_t kLongest = kLongestFilter;

  // Errors: see parse_filter().
  static Result<Filter> parse(std::string_view text);

  bool matches(const Row& row) const;
  const std::string& text() const { return text_; }

 private:
  Filter(std::string text, std::shared_ptr<const FilterNode> root)
      : text_(std::move(text)), root_(std::move(root)) {}

  std::string text_;
  std::shared_ptr<const FilterNode> root_;
};

// Whether `text` matches `pattern`, in which * is any text and ? any byte. In time of their
// product.
bool matches_wildcards(std::string_view pattern, std::string_view text);

struct FilterField {
  std::string_view name;
  std::string_view what;  // for the help
};
std::vector<FilterField> filter_fields();

}  // namespace tranche::top
