#pragma once
// Rows as lines of a table, in as many columns as the width has room for. Pure.

#include <cstddef>
#include <vector>

#include "top/view/history.h"
#include "top/view/line.h"
#include "top/view/row.h"
#include "top/view/settings.h"

namespace tranche::top {

class Table {
 public:
  // `nodes`: rows in one list say on which node they are. `history` must outlive the table.
  Table(std::size_t width, const Settings& settings, const History& history, bool nodes);

  Line header() const;
  Line line(const Row& row) const;

 private:
  struct Column;
  static const std::vector<Column>& all_columns();
  void choose(std::size_t width);
  void add_name(const Row& row, Line& line) const;

  const Settings& settings_;
  const History& history_;
  bool nodes_;
  std::size_t name_width_ = 0;
  std::size_t bar_width_ = 0;
  std::vector<const Column*> columns_;
};

}  // namespace tranche::top
