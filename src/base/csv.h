// Tables of measurements as files: comma-separated values with one header line, read by one strict
// parser, so that a shifted column or a torn file is an error with its place, never a wrong number.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dure {

class CsvTable;

// One line of a table; the table must outlive it. Every error names file, line and column.
class CsvRow {
 public:
  CsvRow(const CsvTable& table, size_t index) : table_(&table), index_(index) {}

  size_t line() const;  // of the file, where the row begins; the header is line 1

  // Throws bad_input for a column that the file lacks.
  const std::string& text(std::string_view column) const;
  // Decimal, without blanks, unit or thousands separators; finite. Throws bad_input for anything
  // else, an empty field too.
  int64_t integer(std::string_view column) const;
  double number(std::string_view column) const;

  // Nothing for an empty field, and for a column that the file lacks.
  std::optional<std::string> optional_text(std::string_view column) const;
  std::optional<int64_t> optional_integer(std::string_view column) const;
  std::optional<double> optional_number(std::string_view column) const;

  // Throws bad_input: "FILE line L, column C: WHY".
  [[noreturn]] void refuse(std::string_view column, std::string_view why) const;

 private:
  bool is_empty(std::string_view column) const;

  const CsvTable* table_;
  size_t index_;
};

class CsvTable {
 public:
  size_t size() const { return rows_.size(); }  // rows, the header not counted
  CsvRow row(size_t index) const { return {*this, index}; }
  std::vector<CsvRow> rows() const;
  const std::vector<std::string>& columns() const { return columns_; }
  bool has_column(std::string_view name) const;
  const std::string& what() const { return what_; }

 private:
  friend class CsvRow;
  friend CsvTable parse_csv(std::string_view text, std::string_view what);

  struct Line {
    size_t number = 0;
    std::vector<std::string> fields;  // as many as columns
  };

  std::string what_;
  std::vector<std::string> columns_;
  std::vector<Line> rows_;
};

// Parses RFC 4180 text: quotes around fields ("" inside is one quote), lines ended by LF or CRLF; a
// UTF-8 byte order mark in front is accepted. Throws bad_input naming `what` (a file) and the line
// for: no header, a column named twice or not at all, a row with another number of fields, a stray
// or unclosed quote, a carriage return alone, other control characters, bytes that are not UTF-8.
CsvTable parse_csv(std::string_view text, std::string_view what);

// Reads and parses a file of at most max_bytes.
CsvTable read_csv_file(const std::filesystem::path& path, size_t max_bytes = size_t{64} << 20);

}  // namespace dure
