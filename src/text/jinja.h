// The template language of chat templates: Jinja2's immutable sandbox with trim_blocks,
// lstrip_blocks, loop controls and the `generation` tag, as the reference libraries set it up.
// chat_template.h is the door for everyone outside this folder.
#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja_budget.h"
#include "text/jinja_value.h"

namespace dure::jinja {

struct Tree;
using Variables = std::vector<std::pair<std::string, Value>>;

class Template {
 public:
  // Throws JinjaError (syntax or unsupported, with the line).
  explicit Template(std::string_view source);
  ~Template();
  Template(const Template&) = delete;
  Template& operator=(const Template&) = delete;

  // Thread-safe. A later variable hides an earlier one of the same name. Throws JinjaError.
  std::string render(const Variables& variables, const std::optional<std::tm>& now = {},
                     const Limits& limits = {}) const;

 private:
  std::unique_ptr<const Tree> tree_;
};

}  // namespace dure::jinja
