// The tree of a parsed template. Names of variables are numbered, filters and tests resolved, so
// that rendering looks nothing up by text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "text/jinja_ops.h"
#include "text/jinja_value.h"

namespace dure::jinja {

struct Arguments;
class Interpreter;
using Filter = Value (*)(Interpreter&, const Value& input, const Arguments&);
using Test = bool (*)(Interpreter&, const Value& input, const Arguments&);
// nullptr when there is none of this name.
Filter find_filter(std::string_view name);
Test find_test(std::string_view name);
// Filters that Jinja has and this interpreter refuses on purpose.
bool is_refused_filter(std::string_view name);

class Names {
 public:
  uint32_t number(std::string_view name);
  const std::string& text(uint32_t number) const { return texts_[number]; }
  // The number of a name that occurs in the template, or `none`.
  uint32_t find(std::string_view name) const;
  static constexpr uint32_t none = ~0u;

 private:
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<std::string> texts_;
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct CallArgs {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> keyword;
  ExprPtr spread;          // *expr
  ExprPtr keyword_spread;  // **expr
};

enum class Comparison { equal, not_equal, less, less_equal, greater, greater_equal, in, not_in };

struct Expr {
  enum class Kind {
    constant,
    name,
    list,         // parts
    tuple,        // parts
    dict,         // parts: key, value, key, value ...
    concat,       // parts joined by ~
    binary,       // parts[0] operation parts[1]
    negative,     // -parts[0]
    positive,     // +parts[0]
    negation,     // not parts[0]
    conjunction,  // parts[0] and parts[1]
    alternative,  // parts[0] or parts[1]
    comparison,   // parts[0] comparisons[0] parts[1] comparisons[1] parts[2] ...
    conditional,  // parts[0] if parts[1] else parts[2]; the last may be absent
    attribute,    // parts[0].text
    item,         // parts[0][parts[1]]
    slice,        // parts: start, stop, step, each possibly null
    call,         // parts[0](args)
    filter,       // parts[0] | text(args); parts[0] is null in a filter block
    test,         // parts[0] is text(args)
  };
  Kind kind;
  int line = 0;
  int depth = 1;  // of the tree below, bounded by the parser
  std::string text;
  uint32_t name = 0;
  Value value;
  Operation operation = Operation::add;
  std::vector<Comparison> comparisons;
  std::vector<ExprPtr> parts;
  std::unique_ptr<CallArgs> args;  // of call, filter and test
  Filter filter = nullptr;         // nullptr: unknown, fails when it is reached
  Test test = nullptr;
};

// What an assignment writes to: a name, an attribute of a namespace, or a tuple of targets.
struct Target {
  uint32_t name = 0;
  std::string attribute;         // of the namespace `name`, if not empty
  std::vector<Target> elements;  // of a tuple, if not empty
  int line = 0;
};

struct Statement;
using Block = std::vector<Statement>;

struct Parameter {
  uint32_t name;
  ExprPtr fallback;  // may be null
};

// The body of a macro or of a call block.
struct MacroBody {
  std::string name;
  std::vector<Parameter> parameters;
  Block body;
  bool uses_caller = false, uses_varargs = false, uses_kwargs = false;
};

struct Statement {
  enum class Kind {
    data,          // text
    output,        // exprs
    set,           // target = exprs[0]
    set_block,     // target = body, through the filter exprs[0] if there is one
    loop,          // for target in exprs[0] if exprs[1], body, otherwise
    branch,        // branches
    macro,         // macro, bound to target
    call_block,    // exprs[0] called with the macro as caller
    filter_block,  // body through exprs[0]
    with,          // targets = exprs, body
    scope,         // body with names of its own (generation, autoescape)
    block,         // body seeing the outermost names only
    stop,          // break
    next,          // continue
  };
  Kind kind;
  int line = 0;
  std::string text{};
  std::vector<ExprPtr> exprs{};
  std::vector<Target> targets{};
  Block body{}, otherwise{};
  bool recursive = false;
  std::vector<std::pair<ExprPtr, Block>> branches{};  // a null test is the else branch
  std::unique_ptr<MacroBody> macro{};
};

struct Tree {
  Block body;
  Names names;
};

}  // namespace dure::jinja
