// Plain tables for a terminal: columns as wide as their widest cell, numbers to the right.
#pragma once

#include <string>
#include <vector>

namespace dure {

class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string heading;  // a table whose headings are all empty prints none
    Align align = Align::left;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> cells);  // as many as there are columns
  std::string text() const;                  // every line ends in '\n', none in spaces

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace dure
