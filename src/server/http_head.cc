// See http_head.h.
#include "server/http_head.h"

#include <fmt/format.h>

#include <algorithm>

namespace dure {
namespace {

using Fault = std::optional<HeadFault>;

bool is_token_character(char letter) {
  const auto byte = static_cast<unsigned char>(letter);
  if (byte <= 0x20 || byte >= 0x7F) return false;
  return std::string_view("\"(),/:;<=>?@[\\]{}").find(letter) == std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_character);
}

bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char letter) { return letter >= '0' && letter <= '9'; });
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  };
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [&](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  const size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

Fault fault_of_target(std::string_view method, std::string_view target) {
  for (const char letter : target) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte <= 0x20 || byte >= 0x7F) {
      return HeadFault{400, "the target holds a byte that must be percent-encoded"};
    }
  }
  if (method == "CONNECT") return HeadFault{400, "CONNECT, but this server is not a proxy"};
  if (target.starts_with('/')) return {};
  if (target == "*" && method == "OPTIONS") return {};
  const size_t scheme = target.find("://");
  if (scheme != std::string_view::npos &&
      (equals_ignoring_case(target.substr(0, scheme), "http") ||
       equals_ignoring_case(target.substr(0, scheme), "https"))) {
    return {};
  }
  return HeadFault{400, "the target must begin with /"};
}

bool lists(std::string_view value, std::string_view wanted) {
  for (size_t at = 0; at <= value.size();) {
    const size_t end = std::min(value.find(',', at), value.size());
    if (equals_ignoring_case(trimmed(value.substr(at, end - at)), wanted)) return true;
    at = end + 1;
  }
  return false;
}

// What only the whole head can tell.
struct Counts {
  int host = 0;
  int content_length = 0;
  int transfer_encoding = 0;
  int authorization = 0;
  bool says_close = false;
  bool says_keep_alive = false;
};

Fault read_content_length(std::string_view value, RequestHead& made) {
  constexpr size_t most_digits = 18;
  if (!is_digits(value) || value.size() > most_digits) {
    return HeadFault{400, "a Content-Length that is not a number"};
  }
  made.content_length = 0;
  for (const char digit : value) {
    made.content_length = made.content_length * 10 + static_cast<uint64_t>(digit - '0');
  }
  return {};
}

Fault read_field(std::string_view name, std::string_view value, RequestHead& made, Counts& counts) {
  const auto is = [&](std::string_view other) { return equals_ignoring_case(name, other); };
  if (is("Host")) {
    ++counts.host;
  } else if (is("Content-Length")) {
    ++counts.content_length;
    return read_content_length(value, made);
  } else if (is("Transfer-Encoding")) {
    ++counts.transfer_encoding;
    made.chunked = true;
    if (!equals_ignoring_case(value, "chunked")) {
      return HeadFault{400, "a Transfer-Encoding that is not chunked"};
    }
  } else if (is("Connection")) {
    counts.says_close = counts.says_close || lists(value, "close");
    counts.says_keep_alive = counts.says_keep_alive || lists(value, "keep-alive");
  } else if (is("Expect")) {
    made.expects_continue = true;
    if (!equals_ignoring_case(value, "100-continue")) {
      return HeadFault{417, "an Expect that is not 100-continue"};
    }
  } else if (is("Content-Encoding")) {
    if (!equals_ignoring_case(value, "identity")) {
      return HeadFault{415, "compressed bodies are not read; send the JSON as it is"};
    }
  } else if (is("Authorization")) {
    ++counts.authorization;
    made.authorization = value;
  } else if (is("Origin")) {
    made.origin = value;
  } else if (is("X-Request-Id")) {
    made.request_id = value;
  } else if (is("Access-Control-Request-Method")) {
    made.asks_preflight = made.method == "OPTIONS";
  }
  return {};
}

Fault fault_of_counts(const Counts& counts, bool http_1_1) {
  if (counts.content_length > 1) return HeadFault{400, "more than one Content-Length"};
  if (counts.transfer_encoding > 1) return HeadFault{400, "more than one Transfer-Encoding"};
  if (counts.content_length > 0 && counts.transfer_encoding > 0) {
    return HeadFault{400, "both Content-Length and Transfer-Encoding"};
  }
  if (counts.transfer_encoding > 0 && !http_1_1) {
    return HeadFault{400, "a Transfer-Encoding in HTTP/1.0"};
  }
  if (counts.authorization > 1) return HeadFault{400, "more than one Authorization"};
  if (counts.host > 1) return HeadFault{400, "more than one Host"};
  if (counts.host == 0 && http_1_1) return HeadFault{400, "no Host"};
  return {};
}

// The two sides of "Name: value".
Fault split_field(std::string_view line, std::string_view& name, std::string_view& value) {
  if (line.front() == ' ' || line.front() == '\t') {
    return HeadFault{400, "a header field that goes on in the next line"};
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return HeadFault{400, "a header field without a colon"};
  name = line.substr(0, colon);
  value = trimmed(line.substr(colon + 1));
  if (!is_token(name)) return HeadFault{400, "a header field whose name is not a token"};
  return {};
}

}  // namespace

std::optional<HeadFault> fault_of_request_line(std::string_view line) {
  if (line.size() > max_target_bytes) return HeadFault{414, "the target is too long"};
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    return HeadFault{400, "the first line must be METHOD TARGET HTTP/1.1"};
  }
  const std::string_view method = line.substr(0, first);
  const std::string_view version = line.substr(last + 1);
  if (!is_token(method)) return HeadFault{400, "the method is not a token"};
  if (version.size() != 8 || !version.starts_with("HTTP/") || version[6] != '.' ||
      !is_digits(version.substr(5, 1)) || !is_digits(version.substr(7))) {
    return HeadFault{400, "the first line must end with HTTP/1.1"};
  }
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return HeadFault{505, fmt::format("this server speaks HTTP/1.1, not {}", version)};
  }
  return fault_of_target(method, line.substr(first + 1, last - first - 1));
}

std::optional<HeadFault> read_head(std::string_view head, RequestHead& made) {
  const size_t first_end = head.find("\r\n");
  const std::string_view first = head.substr(0, first_end);
  if (Fault fault = fault_of_request_line(first)) return fault;
  const size_t method_end = first.find(' ');
  made.method = first.substr(0, method_end);
  made.target = first.substr(method_end + 1, first.rfind(' ') - method_end - 1);
  made.http_1_1 = first.ends_with("HTTP/1.1");

  Counts counts;
  int fields = 0;
  for (size_t at = first_end + 2;;) {
    const size_t end = head.find("\r\n", at);
    const std::string_view line = head.substr(at, end - at);
    if (line.empty()) break;
    if (++fields > max_header_fields) {
      return HeadFault{431, fmt::format("more than {} header fields", max_header_fields)};
    }
    std::string_view name;
    std::string_view value;
    if (Fault fault = split_field(line, name, value)) return fault;
    if (Fault fault = read_field(name, value, made, counts)) return fault;
    at = end + 2;
  }
  made.keep_alive = !counts.says_close && (made.http_1_1 || counts.says_keep_alive);
  return fault_of_counts(counts, made.http_1_1);
}

std::string_view path_of_target(std::string_view target) {
  if (!target.starts_with('/')) {
    const size_t scheme = target.find("://");
    if (scheme == std::string_view::npos) return target;
    const size_t slash = target.find_first_of("/?", scheme + 3);
    if (slash == std::string_view::npos || target[slash] == '?') return "/";
    target.remove_prefix(slash);
  }
  return target.substr(0, target.find('?'));
}

}  // namespace dure
