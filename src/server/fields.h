// The fields of a request's object, read strictly: every type and range is checked, and what nobody
// asked for is an error that names it. null means absent, as clients send it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace dure {

class Fields {
 public:
  // `object` must outlive this. Throws bad_input if it is not an object. `where` goes in front of
  // names in errors ("stream_options", "messages[0]"; empty for the request itself).
  Fields(const Json& object, std::string where);

  const Json* find(std::string_view name);  // null if absent or null
  std::optional<bool> boolean(std::string_view name);
  std::optional<double> number(std::string_view name, double least, double most);
  std::optional<int64_t> integer(std::string_view name, int64_t least, int64_t most);
  std::optional<std::string> text(std::string_view name);
  std::vector<std::string> texts(std::string_view name);  // a string, or a list of strings
  std::vector<int32_t> tokens(std::string_view name, int32_t vocab);

  // Known, and without effect here.
  void ignore(std::initializer_list<std::string_view> names);
  // Known and not done by this server: refused unless it asks for nothing (null, false, 0, an empty
  // list or object, or one of `harmless`).
  void unsupported(std::string_view name, std::initializer_list<Json> harmless = {});
  void refuse_unknown() const;

  std::string path(std::string_view name) const;  // "messages[0].role"
  [[noreturn]] void fail(std::string_view name, const std::string& what) const;

 private:
  const Json& object_;
  std::string where_;
  std::set<std::string, std::less<>> known_;
};

// Ids from a list of integers, each below vocab. Throws bad_input naming `field`.
std::vector<int32_t> token_ids(const Json& list, const std::string& field, int32_t vocab);

// How a value is quoted in an error: short.
std::string quoted(const Json& value);

}  // namespace dure
