// See csv.h: one pass over the bytes, field by field, then rows by column name.
#include "base/csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_set>

#include "base/error.h"
#include "base/text_file.h"
#include "base/utf8.h"

namespace dure {
namespace {

class Reader {
 public:
  Reader(std::string_view text, std::string_view what) : text_(text), what_(what) {}

  bool at_end() const { return at_ == text_.size(); }
  size_t line() const { return line_; }

  // The fields up to the end of the line, or of the text.
  std::vector<std::string> take_line() {
    std::vector<std::string> fields;
    do {
      fields.push_back(next() == '"' ? take_quoted() : take_plain());
    } while (take(','));
    if (!at_end()) take_line_end();
    return fields;
  }

 private:
  int next() const { return at_end() ? -1 : static_cast<unsigned char>(text_[at_]); }

  bool take(char expected) {
    if (next() != expected) return false;
    ++at_;
    return true;
  }

  void take_line_end() {
    const bool returned = take('\r');
    if (!take('\n'))
      refuse(returned ? "a carriage return without a line feed" : "text after a quoted field");
    ++line_;
  }

  std::string take_plain() {
    std::string field;
    while (!at_end() && next() != ',' && next() != '\n' && next() != '\r') {
      if (next() == '"') refuse("a quote inside a field that does not begin with one");
      take_character(field);
    }
    return field;
  }

  std::string take_quoted() {
    const size_t opened = line_;
    std::string field;
    ++at_;
    for (;;) {
      if (at_end()) {
        line_ = opened;
        refuse("a quoted field that never ends");
      }
      if (take('"')) {
        if (!take('"')) return field;
        field += '"';
      } else if (next() == '\n' || text_.substr(at_).starts_with("\r\n")) {
        take_line_end();
        field += '\n';
      } else {
        take_character(field);
      }
    }
  }

  void take_character(std::string& field) {
    const int byte = next();
    if ((byte < 0x20 && byte != '\t') || byte == 0x7F) {
      refuse(fmt::format("a control character (0x{:02X})", byte));
    }
    const size_t length = utf8::valid_length(text_.substr(at_));
    if (length == 0) refuse("bytes that are not UTF-8");
    field += text_.substr(at_, length);
    at_ += length;
  }

  [[noreturn]] void refuse(std::string_view why) const {
    throw_bad_input(fmt::format("{} line {}: {}", what_, line_, why),
                    "comma-separated values, one header line, quotes around fields that hold "
                    "commas, quotes or line ends");
  }

  std::string_view text_;
  std::string_view what_;
  size_t at_ = 0;
  size_t line_ = 1;
};

void check_header(const std::vector<std::string>& columns, std::string_view what) {
  std::unordered_set<std::string> seen;
  for (const std::string& column : columns) {
    if (column.empty()) throw_bad_input(fmt::format("{} line 1: a column has no name", what));
    if (!seen.insert(column).second) {
      throw_bad_input(fmt::format("{} line 1: two columns are named {:.80}", what, column));
    }
  }
}

template <typename Number>
std::optional<Number> whole_number(const std::string& text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

}  // namespace

size_t CsvRow::line() const {
  return table_->rows_[index_].number;
}

const std::string& CsvRow::text(std::string_view column) const {
  const auto found = std::find(table_->columns_.begin(), table_->columns_.end(), column);
  if (found == table_->columns_.end()) {
    throw_bad_input(fmt::format("{}: no column named {}", table_->what(), column),
                    fmt::format("its header has {}", fmt::join(table_->columns_, ", ")));
  }
  return table_->rows_[index_].fields[static_cast<size_t>(found - table_->columns_.begin())];
}

int64_t CsvRow::integer(std::string_view column) const {
  const auto value = whole_number<int64_t>(text(column));
  if (!value) refuse(column, fmt::format("\"{:.40}\" is not a whole number", text(column)));
  return *value;
}

double CsvRow::number(std::string_view column) const {
  const auto value = whole_number<double>(text(column));
  if (!value || !std::isfinite(*value)) {
    refuse(column, fmt::format("\"{:.40}\" is not a number", text(column)));
  }
  return *value;
}

bool CsvRow::is_empty(std::string_view column) const {
  return !table_->has_column(column) || text(column).empty();
}

std::optional<std::string> CsvRow::optional_text(std::string_view column) const {
  if (is_empty(column)) return std::nullopt;
  return text(column);
}

std::optional<int64_t> CsvRow::optional_integer(std::string_view column) const {
  if (is_empty(column)) return std::nullopt;
  return integer(column);
}

std::optional<double> CsvRow::optional_number(std::string_view column) const {
  if (is_empty(column)) return std::nullopt;
  return number(column);
}

void CsvRow::refuse(std::string_view column, std::string_view why) const {
  throw_bad_input(fmt::format("{} line {}, column {}: {}", table_->what(), line(), column, why));
}

std::vector<CsvRow> CsvTable::rows() const {
  std::vector<CsvRow> rows;
  rows.reserve(size());
  for (size_t i = 0; i < size(); ++i) rows.push_back(row(i));
  return rows;
}

bool CsvTable::has_column(std::string_view name) const {
  return std::find(columns_.begin(), columns_.end(), name) != columns_.end();
}

CsvTable parse_csv(std::string_view text, std::string_view what) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (text.empty()) throw_bad_input(fmt::format("{}: empty where a table was expected", what));
  Reader reader(text, what);
  CsvTable table;
  table.what_ = what;
  table.columns_ = reader.take_line();
  check_header(table.columns_, what);
  while (!reader.at_end()) {
    const size_t line = reader.line();
    table.rows_.push_back({line, reader.take_line()});
    const size_t fields = table.rows_.back().fields.size();
    if (fields != table.columns_.size()) {
      throw_bad_input(fmt::format("{} line {}: {} fields under a header of {}", what, line, fields,
                                  table.columns_.size()));
    }
  }
  return table;
}

CsvTable read_csv_file(const std::filesystem::path& path, size_t max_bytes) {
  return parse_csv(read_text_file(path, max_bytes), path.string());
}

}  // namespace dure
