// The refusals of a template that asks for too much.
#include "text/jinja_budget.h"

#include <fmt/format.h>

#include "text/jinja_error.h"

namespace dure::jinja {

void Budget::check_text(size_t bytes) const {
  if (bytes > limits_.text) {
    throw JinjaError(Fault::limit,
                     fmt::format("the template builds a text of more than {} bytes", limits_.text));
  }
}

void Budget::check_items(size_t count) const {
  if (count > limits_.items) {
    throw JinjaError(Fault::limit, fmt::format("the template builds a list of more than {} items",
                                               limits_.items));
  }
}

void Budget::hold(size_t bytes) {
  if (bytes > limits_.memory - held_) {
    throw JinjaError(Fault::limit, fmt::format("the template holds more than {} bytes of values",
                                               limits_.memory));
  }
  held_ += bytes;
}

void Budget::too_deep() {
  throw JinjaError(Fault::recursion, "the template recurses or nests too deeply");
}

void Budget::out_of_steps() const {
  throw JinjaError(Fault::limit,
                   fmt::format("the template did not finish within {} steps", limits_.steps));
}

}  // namespace dure::jinja
