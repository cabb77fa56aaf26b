// The fields that say what an answer has to look like: OpenAI's response_format, vLLM's guided_…
// and structured_outputs.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "server/request_fields.h"

namespace dure {
namespace {

using Kind = GrammarSource::Kind;

constexpr size_t most_choices = 100'000;

// Collects what the fields say: one of them may say something.
class Sources {
 public:
  void add(const Fields& fields, std::string_view name, GrammarSource source) {
    source.field = fields.path(name);
    if (found_) fields.fail(name, fmt::format("and {} cannot both be given", found_->field));
    found_ = std::move(source);
  }
  std::optional<GrammarSource> take() { return std::move(found_); }

 private:
  std::optional<GrammarSource> found_;
};

GrammarSource schema_source(const Json& schema) {
  GrammarSource source;
  source.kind = Kind::json_schema;
  source.text = schema.is_string() ? schema.get<std::string>() : schema.dump();
  return source;
}

// A schema as an object or as JSON text.
void read_schema(Fields& fields, const char* name, Sources& sources) {
  const Json either =
      Json{{"anyOf", Json::array({Json{{"type", "object"}}, Json{{"type", "string"}}})}};
  const Json* schema = fields.find(name, either);
  if (schema == nullptr) return;
  if (!schema->is_object() && !schema->is_string()) {
    fields.fail(name, "must be a JSON schema, not " + quoted(*schema));
  }
  sources.add(fields, name, schema_source(*schema));
}

void read_text(Fields& fields, const char* name, Kind kind, Sources& sources) {
  std::optional<std::string> text = fields.text(name);
  if (!text) return;
  GrammarSource source;
  source.kind = kind;
  source.text = std::move(*text);
  sources.add(fields, name, std::move(source));
}

void read_choice(Fields& fields, const char* name, Sources& sources) {
  const Json schema = {{"type", "array"},
                       {"minItems", 1},
                       {"maxItems", most_choices},
                       {"items", {{"type", "string"}, {"minLength", 1}}}};
  const Json* list = fields.find(name, schema);
  if (list == nullptr) return;
  if (!list->is_array() || list->empty() || list->size() > most_choices) {
    fields.fail(name, fmt::format("must be a list of 1 to {} texts", most_choices));
  }
  GrammarSource source;
  source.kind = Kind::choice;
  for (const Json& text : *list) {
    if (!text.is_string() || text.get_ref<const std::string&>().empty()) {
      fields.fail(name, "must hold texts that are not empty, not " + quoted(text));
    }
    source.choice.push_back(text.get<std::string>());
  }
  sources.add(fields, name, std::move(source));
}

void read_json_schema(Fields& fields, std::optional<Json>& schema) {
  fields.text("name");
  fields.text("description");
  fields.boolean("strict");  // answers keep to the schema either way
  const Json* given = fields.find("schema", {{"type", "object"}});
  if (given != nullptr && !given->is_object()) {
    fields.fail("schema", "must be an object, not " + quoted(*given));
  }
  if (given != nullptr) schema = *given;
  fields.refuse_unknown();
}

void read_response_format(Fields& fields, Sources& sources) {
  std::optional<std::string> type;
  std::optional<Json> schema;
  fields.object("response_format", [&](Fields& format) {
    type = format.choice("type", {"text", "json_object", "json_schema"});
    format.require("type");
    format.object("json_schema", [&](Fields& inner) { read_json_schema(inner, schema); });
    format.require_if("type", "json_schema", "json_schema");
    format.refuse_unknown();
  });
  if (!type || *type == "text") return;
  // A schema that is left out allows any object.
  sources.add(fields, "response_format",
              *type == "json_schema" && schema ? schema_source(*schema) : GrammarSource{});
}

void read_structured_outputs(Fields& fields, Sources& sources) {
  fields.object("structured_outputs", [&](Fields& inner) {
    read_schema(inner, "json", sources);
    read_text(inner, "regex", Kind::regex, sources);
    read_choice(inner, "choice", sources);
    read_text(inner, "grammar", Kind::ebnf, sources);
    if (inner.boolean("json_object").value_or(false)) {
      sources.add(inner, "json_object", GrammarSource{});
    }
    inner.unsupported("structural_tag");
    inner.ignore({"disable_any_whitespace", "disable_fallback", "disable_additional_properties"});
    inner.unsupported("whitespace_pattern");
    inner.refuse_unknown();
  });
}

}  // namespace

std::optional<GrammarSource> read_grammar(Fields& fields) {
  Sources sources;
  read_response_format(fields, sources);
  read_schema(fields, "guided_json", sources);
  read_text(fields, "guided_regex", Kind::regex, sources);
  read_choice(fields, "guided_choice", sources);
  read_text(fields, "guided_grammar", Kind::ebnf, sources);
  read_structured_outputs(fields, sources);
  fields.ignore({"guided_decoding_backend"});
  fields.unsupported("guided_whitespace_pattern");
  return sources.take();
}

}  // namespace dure
