// Template processing of a single text: a list of special tokens around one sequence.
#include "text/post_processor.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "text/component.h"

namespace dure {
namespace {

constexpr int max_depth = 16;

class Reader {
 public:
  explicit Reader(int32_t vocabulary_size) : vocabulary_size_(vocabulary_size) {}

  void add(const Json& component, std::string_view what, int depth) {
    const std::string type = component::type(component, what);
    if (type == "Sequence") {
      component::only_keys(component, {"processors"}, what);
      if (depth > max_depth) component::refuse(what, "sequences are nested too deeply");
      int index = 0;
      for (const Json& child : component::list(component, "processors", what))
        add(child, fmt::format("{}.processors[{}]", what, index++), depth + 1);
    } else if (type == "ByteLevel") {
      component::only_keys(component, {"add_prefix_space", "trim_offsets", "use_regex"}, what);
    } else if (type == "TemplateProcessing") {
      component::only_keys(component, {"single", "pair", "special_tokens"}, what);
      add_template(component, what);
    } else {
      component::refuse(what, fmt::format("the post-processor '{}' is not implemented", type));
    }
  }

  AddedAround around;

 private:
  void add_template(const Json& component, std::string_view what) {
    if (seen_template_) component::refuse(what, "a second template is not implemented");
    seen_template_ = true;
    bool seen_text = false;
    for (const Json& item : component::list(component, "single", what)) {
      if (item.is_object() && item.contains("Sequence")) {
        const Json& sequence = item["Sequence"];
        if (!sequence.is_object() || component::text(sequence, "id", what) != "A")
          component::refuse(what, "'single' has a sequence that is not A");
        if (seen_text) component::refuse(what, "'single' has the text twice");
        seen_text = true;
      } else if (item.is_object() && item.contains("SpecialToken")) {
        const std::vector<int32_t> ids = special_ids(component, item["SpecialToken"], what);
        auto& target = seen_text ? around.after : around.before;
        target.insert(target.end(), ids.begin(), ids.end());
      } else {
        component::refuse(what, "'single' has something that is neither token nor sequence");
      }
    }
    if (!seen_text) component::refuse(what, "'single' leaves the text out");
  }

  std::vector<int32_t> special_ids(const Json& component, const Json& token,
                                   std::string_view what) const {
    if (!token.is_object()) component::refuse(what, "a SpecialToken is not an object");
    const std::string name = component::text(token, "id", what);
    const Json& known = component::field(component, "special_tokens", what);
    if (!known.is_object() || !known.contains(name) || !known[name].is_object())
      component::refuse(what, fmt::format("'special_tokens' lacks '{}'", name));
    std::vector<int32_t> ids;
    for (const Json& id : component::list(known[name], "ids", what)) {
      if (!id.is_number_unsigned() || id.get<uint64_t>() >= static_cast<uint64_t>(vocabulary_size_))
        component::refuse(what, fmt::format("'{}' has an id outside the vocabulary", name));
      ids.push_back(id.get<int32_t>());
    }
    return ids;
  }

  int32_t vocabulary_size_;
  bool seen_template_ = false;
};

}  // namespace

AddedAround parse_post_processor(const Json& component, int32_t vocabulary_size,
                                 std::string_view what) {
  Reader reader(vocabulary_size);
  if (!component.is_null()) reader.add(component, what, 0);
  return std::move(reader.around);
}

}  // namespace dure
