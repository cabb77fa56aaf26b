// strftime in English whatever the locale, with Python's own directives.
#include "text/python_strftime.h"

#include <fmt/format.h>

#include <array>
#include <clocale>

namespace dure {
namespace {

constexpr std::array<std::string_view, 7> days = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                  "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> months = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};

int hour12(const std::tm& t) {
  return t.tm_hour % 12 == 0 ? 12 : t.tm_hour % 12;
}
// Week of the year with weeks beginning on a given day.
int week(const std::tm& t, int first_day) {
  return (t.tm_yday + 7 - (t.tm_wday - first_day + 7) % 7) / 7;
}

// ISO 8601: the week holding the year's first Thursday is its first.
struct IsoWeek {
  int year, week;
};
IsoWeek iso_week(const std::tm& t) {
  const int year = t.tm_year + 1900;
  const auto long_year = [](int y) {
    const auto first = [](int z) { return (z + z / 4 - z / 100 + z / 400) % 7; };
    return first(y) == 4 || first(y - 1) == 3;
  };
  const int weekday = (t.tm_wday + 6) % 7;
  const int number = (t.tm_yday - weekday + 10) / 7;
  if (number < 1) return {year - 1, long_year(year - 1) ? 53 : 52};
  if (number > 52 && !long_year(year)) return {year + 1, 1};
  return {year, number};
}

std::string directive(char c, const std::tm& t) {
  const std::string_view day = days[static_cast<size_t>(t.tm_wday % 7)];
  const std::string_view month = months[static_cast<size_t>(t.tm_mon % 12)];
  switch (c) {
    case 'a':
      return std::string(day.substr(0, 3));
    case 'A':
      return std::string(day);
    case 'b':
    case 'h':
      return std::string(month.substr(0, 3));
    case 'B':
      return std::string(month);
    case 'c':
      return py_strftime("%a %b %e %H:%M:%S %Y", t);
    case 'C':
      return fmt::format("{:02}", (t.tm_year + 1900) / 100);
    case 'd':
      return fmt::format("{:02}", t.tm_mday);
    case 'D':
      return py_strftime("%m/%d/%y", t);
    case 'e':
      return fmt::format("{:2}", t.tm_mday);
    case 'f':
      return "000000";
    case 'F':
      return py_strftime("%Y-%m-%d", t);
    case 'G':
      return std::to_string(iso_week(t).year);
    case 'g':
      return fmt::format("{:02}", iso_week(t).year % 100);
    case 'H':
      return fmt::format("{:02}", t.tm_hour);
    case 'I':
      return fmt::format("{:02}", hour12(t));
    case 'j':
      return fmt::format("{:03}", t.tm_yday + 1);
    case 'k':
      return fmt::format("{:2}", t.tm_hour);
    case 'l':
      return fmt::format("{:2}", hour12(t));
    case 'm':
      return fmt::format("{:02}", t.tm_mon + 1);
    case 'M':
      return fmt::format("{:02}", t.tm_min);
    case 'n':
      return "\n";
    case 'p':
      return t.tm_hour < 12 ? "AM" : "PM";
    case 'P':
      return t.tm_hour < 12 ? "am" : "pm";
    case 'r':
      return py_strftime("%I:%M:%S %p", t);
    case 'R':
      return py_strftime("%H:%M", t);
    case 's': {
      std::tm copy = t;
      return std::to_string(std::mktime(&copy));
    }
    case 'S':
      return fmt::format("{:02}", t.tm_sec);
    case 't':
      return "\t";
    case 'T':
    case 'X':
      return py_strftime("%H:%M:%S", t);
    case 'u':
      return std::to_string(t.tm_wday == 0 ? 7 : t.tm_wday);
    case 'U':
      return fmt::format("{:02}", week(t, 0));
    case 'V':
      return fmt::format("{:02}", iso_week(t).week);
    case 'w':
      return std::to_string(t.tm_wday);
    case 'W':
      return fmt::format("{:02}", week(t, 1));
    case 'x':
      return py_strftime("%m/%d/%y", t);
    case 'y':
      return fmt::format("{:02}", t.tm_year % 100);
    case 'Y':
      return std::to_string(t.tm_year + 1900);
    case 'z':
    case 'Z':
      return "";
    case '%':
      return "%";
    default:
      return std::string("%") + c;
  }
}

std::string unpadded(std::string text) {
  const size_t first = text.find_first_not_of("0 ");
  if (first == std::string::npos) return text.empty() ? text : "0";
  return text.substr(first);
}

}  // namespace

std::string py_strftime(std::string_view format, const std::optional<std::tm>& now) {
  std::tm time{};
  if (now) {
    time = *now;
  } else {
    const std::time_t seconds = std::time(nullptr);
    localtime_r(&seconds, &time);
  }
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out += format[i];
    } else if (format[i + 1] == '-' && i + 2 < format.size()) {
      // The C library's "no padding", which templates use for days and hours.
      i += 2;
      out += unpadded(directive(format[i], time));
    } else {
      out += directive(format[++i], time);
    }
  }
  return out;
}

}  // namespace dure
