// See schema_document.h.
#include "grammar/schema_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"

namespace dure::grammar {
namespace {

std::string escaped(std::string_view name) {  // RFC 6901
  std::string out;
  for (const char c : name) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out.push_back(c);
    }
  }
  return out;
}

// One step of a JSON pointer in a URI fragment, as the name it means.
std::string unescaped(std::string_view step) {
  std::string out;
  const auto hex = [&](size_t at) {
    const char c = at < step.size() ? step[at] : '\0';
    if (c >= '0' && c <= '9') return c - '0';
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : -1;
  };
  for (size_t i = 0; i < step.size(); ++i) {
    if (step[i] == '%' && hex(i + 1) >= 0 && hex(i + 2) >= 0) {
      out.push_back(static_cast<char>(hex(i + 1) * 16 + hex(i + 2)));
      i += 2;
    } else if (step[i] == '~' && i + 1 < step.size() &&
               (step[i + 1] == '0' || step[i + 1] == '1')) {
      out.push_back(step[++i] == '0' ? '~' : '/');
    } else {
      out.push_back(step[i]);
    }
  }
  return out;
}

const Json* child(const Json& parent, const std::string& name) {
  if (parent.is_object()) {
    const auto found = parent.find(name);
    return found == parent.end() ? nullptr : &*found;
  }
  if (!parent.is_array() || name.empty() || name.size() > 7) return nullptr;
  size_t index = 0;
  for (const char c : name) {
    if (c < '0' || c > '9') return nullptr;
    index = index * 10 + static_cast<size_t>(c - '0');
  }
  return index < parent.size() ? &parent[index] : nullptr;
}

}  // namespace

bool is_annotation(std::string_view keyword) {
  constexpr std::array known{
      "title",        "description",  "default",   "examples",        "example",
      "deprecated",   "readOnly",     "writeOnly", "$schema",         "$id",
      "id",           "$comment",     "$defs",     "definitions",     "discriminator",
      "externalDocs", "xml",          "$anchor",   "contentEncoding", "contentMediaType",
      "$vocabulary",  "contentSchema"};
  return keyword.starts_with("x-") || std::ranges::find(known, keyword) != known.end();
}

const Json* SchemaDocument::target(const Json& schema) const {
  const Json& ref = schema["$ref"];
  if (!ref.is_string()) refuse(schema, "$ref", "$ref must be a string");
  std::string_view rest = ref.get_ref<const std::string&>();
  if (rest != "#" && !rest.starts_with("#/")) {
    refuse(schema, "$ref", fmt::format("$ref \"{:.100}\" leads out of the schema", rest),
           "put the other schema under $defs and refer to it as #/$defs/NAME");
  }
  rest.remove_prefix(1);
  const Json* at = &root_;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const size_t end = std::min(rest.find('/'), rest.size());
    at = child(*at, unescaped(rest.substr(0, end)));
    if (at == nullptr) {
      refuse(schema, "$ref",
             fmt::format("$ref {:.100}: there is nothing", ref.get_ref<const std::string&>()));
    }
    rest.remove_prefix(end);
  }
  return at;
}

const Json* SchemaDocument::resolved(const Json* schema) const {
  constexpr int most_hops = 64;
  for (int hops = 0; schema->is_object() && schema->contains("$ref"); ++hops) {
    for (const auto& [key, value] : schema->items()) {
      if (key != "$ref" && !is_annotation(key)) return schema;
    }
    if (hops == most_hops) refuse(*schema, "$ref", "references go round in a circle");
    schema = target(*schema);
  }
  return schema;
}

// Looks for the part by its address: only errors need it.
std::string SchemaDocument::path_of(const Json& part) const {
  struct Open {
    const Json* json;
    std::string path;
  };
  std::vector<Open> open{{&root_, ""}};
  while (!open.empty()) {
    const Open next = std::move(open.back());
    open.pop_back();
    if (next.json == &part) return next.path;
    if (next.json->is_object()) {
      for (const auto& [key, value] : next.json->items()) {
        if (value.is_structured()) open.push_back({&value, next.path + "/" + escaped(key)});
      }
    } else if (next.json->is_array()) {
      for (size_t i = 0; i < next.json->size(); ++i) {
        if ((*next.json)[i].is_structured()) {
          open.push_back({&(*next.json)[i], fmt::format("{}/{}", next.path, i)});
        }
      }
    }
  }
  return "";
}

void SchemaDocument::refuse(const Json& schema, std::string_view keyword, std::string_view problem,
                            std::string_view hint) const {
  const std::string path = path_of(schema);
  const std::string field = keyword.empty() ? path : path + "/" + escaped(keyword);
  throw_bad_input(
      fmt::format("json_schema: at {:.300}: {}", field.empty() ? "the root" : field, problem),
      std::string(hint), field);
}

}  // namespace dure::grammar
