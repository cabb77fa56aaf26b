// See table.h.
#include "cli/table.h"

#include <algorithm>

#include "base/error.h"
#include "cli/terminal.h"

namespace dure {
namespace {

void append_line(std::string& text, const std::vector<std::string>& cells,
                 const std::vector<int>& widths, const std::vector<Table::Column>& columns) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    const auto fill = static_cast<size_t>(widths[i] - display_width(cells[i]));
    if (i > 0) line += "  ";
    if (columns[i].align == Table::Align::right) line.append(fill, ' ');
    line += cells[i];
    if (columns[i].align == Table::Align::left) line.append(fill, ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  text += line + '\n';
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  DURE_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::string> headings;
  std::vector<int> widths;
  bool any_heading = false;
  for (size_t i = 0; i < columns_.size(); ++i) {
    headings.push_back(columns_[i].heading);
    any_heading = any_heading || !columns_[i].heading.empty();
    widths.push_back(display_width(columns_[i].heading));
    for (const auto& row : rows_) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::string text;
  if (any_heading) append_line(text, headings, widths, columns_);
  for (const auto& row : rows_) append_line(text, row, widths, columns_);
  return text;
}

}  // namespace dure
