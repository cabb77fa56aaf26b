// JSON for the whole house: nlohmann's ordered document (keys keep their order, which chat
// templates print), read by one strict parser. Include <nlohmann/json.hpp> only in .cc files that
// need it.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace dure {

using Json = nlohmann::ordered_json;

struct JsonLimits {
  int max_depth = 128;
  bool allow_duplicate_keys = false;  // when allowed, the last one wins
  // Python's json writes a bare Infinity; where allowed it is 1e308, which other tools write for
  // it.
  bool allow_infinity = false;
};

// Parses RFC 8259 text; a UTF-8 byte order mark in front is accepted. Throws bad_input naming
// `what` (a file or "request body") and the line for: anything that is not JSON (NaN, comments,
// trailing text), invalid UTF-8, numbers that overflow a double, nesting deeper than max_depth,
// duplicate keys.
Json parse_json(std::string_view text, std::string_view what, const JsonLimits& limits = {});

// Reads and parses a file of at most max_bytes.
Json read_json_file(const std::filesystem::path& path, size_t max_bytes = size_t{256} << 20,
                    const JsonLimits& limits = {});

}  // namespace dure
