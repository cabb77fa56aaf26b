// Any bytes as a table of comma-separated values, and every field as every type: refused or read.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/csv.h"
#include "base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const dure::CsvTable table =
        dure::parse_csv({reinterpret_cast<const char*>(data), size}, "fuzz.csv");
    for (const dure::CsvRow& row : table.rows()) {
      for (const std::string& column : table.columns()) {
        try {
          row.optional_integer(column);
        } catch (const dure::Error&) {
        }
        try {
          row.optional_number(column);
        } catch (const dure::Error&) {
        }
      }
    }
  } catch (const dure::Error&) {
  }
  return 0;
}
