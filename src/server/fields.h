// The fields of a request's object, read strictly: every type and range is checked, and what nobody
// asked for is an error that names it. null means absent, as clients send it.
//
// The same calls also describe a request: against a Fields that describes, every field is absent
// and the calls write down what they would take, as a JSON schema (2020-12, which OpenAPI 3.1
// uses). So the served document says what the parser does: a field is added in one place. Readers
// must make the same calls whatever the object holds.
#pragma once

#include <cstdint>
#include <functional>
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
  using Reader = std::function<void(Fields&)>;

  // `object` must outlive this. Throws bad_input if it is not an object. `where` goes in front of
  // names in errors ("stream_options", "messages[0]"; empty for the request itself).
  Fields(const Json& object, std::string where);

  bool describes() const { return schema_ != nullptr; }
  bool has(std::string_view name) const;  // there, and not null
  std::optional<bool> boolean(std::string_view name);
  std::optional<double> number(std::string_view name, double least, double most);
  std::optional<double> number_above(std::string_view name, double bound, double most);
  std::optional<int64_t> integer(std::string_view name, int64_t least, int64_t most);
  std::optional<std::string> text(std::string_view name, size_t longest = SIZE_MAX);  // characters
  std::optional<std::string> choice(std::string_view name,
                                    std::initializer_list<const char*> values);
  // A string, or a list of up to `most` strings, of 1 to `longest` characters.
  std::vector<std::string> texts(std::string_view name, size_t most, size_t longest);
  std::vector<int32_t> tokens(std::string_view name, int32_t vocab);
  // Objects of a form of their own: `read` is called with the fields of each. The value, or null.
  const Json* object(std::string_view name, const Reader& read);
  const Json* objects(std::string_view name, size_t least, const Reader& read);
  const Json* text_or_objects(std::string_view name, const Reader& read);
  // Any other shape: the value, which the caller checks, or null. `schema` describes it, without
  // the null.
  const Json* find(std::string_view name, const Json& schema);

  // After the call that reads it: the field must be there.
  void require(std::string_view name);
  void require_unless(std::string_view other, std::string_view value, std::string_view name);
  // Where `other` has that value.
  void require_if(std::string_view other, std::string_view value, std::string_view name);
  // Known, and without effect here.
  void ignore(std::initializer_list<std::string_view> names);
  // Known and not done by this server: refused unless it asks for nothing (null, false, 0, an empty
  // list or object, or one of `harmless`).
  void unsupported(std::string_view name, std::initializer_list<Json> harmless = {});
  void refuse_unknown();

  std::string path(std::string_view name) const;  // "messages[0].role"
  [[noreturn]] void fail(std::string_view name, const std::string& what) const;

 private:
  struct Describing {};
  Fields(Describing, Json& schema) : schema_(&schema) {}
  friend Json describe_fields(const Reader& read);

  const Json* look_up(std::string_view name);
  template <class Schema>
  const Json* find_described(std::string_view name,
                             const Schema& schema);  // a function that makes it
  void describe(std::string_view name, const Json& schema);
  const Json* read_each(std::string_view name, const Json& list, const Reader& read);

  const Json* object_ = nullptr;
  Json* schema_ = nullptr;  // the description being written; null: there is an object
  std::string where_;
  std::set<std::string, std::less<>> known_;
};

// The schema of the objects that `read` takes.
Json describe_fields(const Fields::Reader& read);

// Ids from a list of integers, each below vocab. Throws bad_input naming `field`.
std::vector<int32_t> token_ids(const Json& list, const std::string& field, int32_t vocab);
Json token_ids_schema(int32_t vocab);

// How a value is quoted in an error: short.
std::string quoted(const Json& value);

}  // namespace dure
