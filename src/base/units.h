// Bytes and counts as people write them: "80GB" (decimal), "80GiB" (binary), "671B" (parameters).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dure {

// "80GB" = 80e9, "80GiB" = 80 × 2^30; B, KB … PB and KiB … PiB, fractions allowed, a bare number is
// bytes. Throws bad_input naming `what` ("--gpu") for anything else, and for less than 1 byte or
// more than 2^62.
int64_t parse_bytes(std::string_view text, std::string_view what);

// "128K", "32M", "671B", "1.5T" (decimal thousands) or a bare number. Throws like parse_bytes.
int64_t parse_count(std::string_view text, std::string_view what);

// "30ms", "1.5s", "250us", "2min": seconds. A bare number is refused, since both seconds and
// milliseconds are usual. Throws like parse_bytes, and for more than a year.
double parse_seconds(std::string_view text, std::string_view what);

std::string format_seconds(double seconds);  // three digits: "48.0 ms", "1.25 s"
std::string format_bytes(int64_t bytes);     // "15.3 GiB", "512 B", binary units
// "2 TB", "1.34 TB", "350 GB": decimal, as the field counts weights on paper.
std::string format_decimal_bytes(int64_t bytes);
std::string format_count(int64_t count);  // "46,702,792,704"

}  // namespace dure
