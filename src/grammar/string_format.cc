// See string_format.h. Each pattern is inside its RFC: it may leave out rare forms (quoted local
// parts of an address, leap seconds, very long host names), but matches nothing that is outside.
#include "grammar/string_format.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"

namespace dure::grammar {
namespace {

// RFC 3339: only days that the month has; 29 February in leap years.
std::string date() {
  return "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
         "|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
         "|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)";
}

std::string time() {
  return "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?"
         "(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])";
}

std::string date_time() {
  return date() + "T" + time();
}

std::string duration() {
  const std::string n = "[0-9]{1,9}";
  const std::string day = n + "D", second = n + "S";
  const std::string month = n + "M(?:" + day + ")?", minute = n + "M(?:" + second + ")?";
  const std::string year = n + "Y(?:" + month + ")?", hour = n + "H(?:" + minute + ")?";
  const std::string clock = "T(?:" + hour + "|" + minute + "|" + second + ")";
  return "P(?:(?:" + year + "|" + month + "|" + day + ")(?:" + clock + ")?|" + clock + "|" + n +
         "W)";
}

std::string uuid() {
  return "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}";
}

std::string hostname() {
  const std::string label = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,32}[A-Za-z0-9])?";
  return label + "(?:\\." + label + "){0,6}";
}

std::string email() {
  const std::string atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,20}";
  return atom + "(?:\\." + atom + "){0,2}@" + hostname();
}

std::string ipv4() {
  const std::string byte = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
  return "(?:" + byte + "\\.){3}" + byte;
}

// RFC 4291: eight groups, or fewer around one "::"; the last two may be an IPv4 address.
std::string ipv6() {
  const std::string group = "[0-9A-Fa-f]{1,4}",
                    last = "(?:" + group + ":" + group + "|" + ipv4() + ")";
  const auto groups = [&](const std::string& count) { return "(?:" + group + ":){" + count + "}"; };
  const auto some = [&](const std::string& count) {
    return "(?:" + groups("0," + count) + group + ")?::";
  };
  return groups("6") + last + "|::" + groups("5") + last + "|" + some("0") + groups("4") + last +
         "|" + some("1") + groups("3") + last + "|" + some("2") + groups("2") + last + "|" +
         some("3") + groups("1") + last + "|" + some("4") + last + "|" + some("5") + group + "|" +
         some("6");
}

// RFC 3986, with a host by name.
std::string uri() {
  const std::string part = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})";
  const std::string user = "(?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*@)?";
  const std::string rest = "(?:" + part + "|[/?])*";
  return "[A-Za-z][A-Za-z0-9+.-]{0,30}:(?://" + user + hostname() + "(?::[0-9]{1,5})?(?:/" + part +
         "*)*|" + part + "(?:" + part + "|/)*)(?:\\?" + rest + ")?(?:#" + rest + ")?";
}

using Maker = std::string (*)();
using Held = std::pair<std::string_view, Maker>;
constexpr std::array<Held, 10> held{{{"date", date},
                                     {"time", time},
                                     {"date-time", date_time},
                                     {"duration", duration},
                                     {"uuid", uuid},
                                     {"hostname", hostname},
                                     {"email", email},
                                     {"ipv4", ipv4},
                                     {"ipv6", ipv6},
                                     {"uri", uri}}};

constexpr std::array<std::string_view, 9> not_held{
    "idn-email",    "idn-hostname", "uri-reference",         "iri",  "iri-reference",
    "uri-template", "json-pointer", "relative-json-pointer", "regex"};

}  // namespace

FormatKind string_format_kind(std::string_view format) {
  if (std::ranges::find(held, format, &Held::first) != held.end()) return FormatKind::held;
  const bool known = std::ranges::find(not_held, format) != not_held.end();
  return known ? FormatKind::refused : FormatKind::annotation;
}

std::string string_format_pattern(std::string_view format) {
  const auto at = std::ranges::find(held, format, &Held::first);
  DURE_CHECK(at != held.end());
  return at->second();
}

}  // namespace dure::grammar
