// The for statement and its loop object.
#include <fmt/format.h>

#include "text/jinja_scope.h"

namespace dure::jinja {

// What `loop` is inside a for. It walks the items itself, since it may look one ahead (last,
// nextitem) or count them (length, revindex), and leaves out those that the loop's own `if`
// refuses.
class LoopObject : public Object {
 public:
  LoopObject(Interpreter& run, const Statement& statement, const Value& iterable, int depth,
             Scope* outer)
      : statement_(statement), outer_(outer), items_(std::in_place, run, iterable), depth_(depth) {}

  std::string type() const override { return "LoopContext"; }
  bool callable() const override { return true; }
  Value call(Interpreter& run, const Arguments& arguments) override {
    const auto given = bind(arguments, "loop", {"iterable"}, 1);
    if (!statement_.recursive) {
      fail_type("The loop must have the 'recursive' marker to be called recursively.");
    }
    return run.call_loop(statement_, outer_, *given[0], depth_ + 1);
  }

  bool advance(Interpreter& run) {
    Value item;
    if (!pull(run, item)) return false;
    previous_ = std::exchange(current_, std::move(item));
    ++index_;
    return true;
  }
  const Value& current() const { return current_; }
  // Lets go of the items; the loop's numbers stay.
  void finish() {
    items_.reset();
    ahead_.clear();
    ahead_at_ = 0;
  }

  std::optional<Value> attribute(Interpreter& run, std::string_view name) override {
    const auto number = [](int64_t value) { return Value::integer(value); };
    if (name == "index") return number(index_ + 1);
    if (name == "index0") return number(index_);
    if (name == "first") return Value::boolean(index_ == 0);
    if (name == "last") return Value::boolean(!look_ahead(run));
    if (name == "length") return number(length(run));
    if (name == "revindex") return number(length(run) - index_);
    if (name == "revindex0") return number(length(run) - index_ - 1);
    if (name == "depth") return number(depth_ + 1);
    if (name == "depth0") return number(depth_);
    if (name == "previtem") {
      return index_ == 0 ? Value::undefined("there is no previous item") : previous_;
    }
    if (name == "nextitem") {
      return look_ahead(run) ? ahead_[ahead_at_] : Value::undefined("there is no next item");
    }
    if (name == "cycle") return cycle(run);
    if (name == "changed") return changed(run);
    return std::nullopt;
  }

 private:
  bool pull(Interpreter& run, Value& item) {
    if (ahead_at_ == ahead_.size()) {
      ahead_.clear();
      ahead_at_ = 0;
      return fetch(run, item);
    }
    item = std::move(ahead_[ahead_at_++]);
    return true;
  }

  // The next item of the iterable that the loop's `if` lets through.
  bool fetch(Interpreter& run, Value& item) {
    if (!items_) return false;
    while (items_->next(item)) {
      if (!statement_.exprs[1]) return true;
      const Interpreter::Scoped scoped(run, outer_);
      run.assign(statement_.targets[0], item);
      if (truth(run.evaluate(*statement_.exprs[1]))) return true;
    }
    return false;
  }

  bool look_ahead(Interpreter& run) {
    if (ahead_at_ == ahead_.size()) {
      Value item;
      if (!fetch(run, item)) return false;
      ahead_.push_back(std::move(item));
    }
    return true;
  }

  int64_t length(Interpreter& run) {
    if (length_ < 0) {
      const auto left = items_ && !statement_.exprs[1] ? items_->left() : std::nullopt;
      if (!left) {
        for (Value item; fetch(run, item);) {
          run.budget().hold(sizeof(Value));
          ahead_.push_back(std::move(item));
        }
      }
      length_ = index_ + 1 + static_cast<int64_t>(ahead_.size() - ahead_at_ + left.value_or(0));
    }
    return length_;
  }

  Value cycle(Interpreter& run) {
    return Value::object(run.make<Function>("cycle", [this](Interpreter&, const Arguments& given) {
      if (given.positional.empty()) fail_type("no items for cycling given");
      return given.positional[static_cast<size_t>(index_) % given.positional.size()];
    }));
  }

  Value changed(Interpreter& run) {
    return Value::object(
        run.make<Function>("changed", [this](Interpreter& r, const Arguments& given) {
          const Value now = r.tuple(given.positional);
          const bool differs = !last_changed_ || !r.equal(*last_changed_, now);
          if (differs) last_changed_ = now;
          return Value::boolean(differs);
        }));
  }

  const Statement& statement_;
  Scope* outer_;
  std::optional<Iterator> items_;
  std::vector<Value> ahead_;  // fetched but not yet gone through, from ahead_at_ on
  size_t ahead_at_ = 0;
  Value current_, previous_;
  std::optional<Value> last_changed_;
  int64_t index_ = -1;
  int64_t length_ = -1;
  int depth_;
};

Interpreter::Flow Interpreter::run_loop(const Statement& statement, const Value& iterable,
                                        int depth, Scope* outer) {
  // A recursive loop may be called from wherever its object is kept.
  if (statement.recursive) capture(outer);
  LoopObject* loop = make<LoopObject>(*this, statement, iterable, depth, outer);
  bool any = false;
  while (loop->advance(*this)) {
    any = true;
    budget_.step();
    const Scoped scoped(*this, outer);
    assign(statement.targets[0], loop->current());
    if (loop_name_ != Names::none) scope_->set(loop_name_, Value::object(loop));
    if (run(statement.body) == Flow::stop) break;
  }
  loop->finish();
  if (any) return Flow::onward;
  return run_in_scope(statement.otherwise, outer);
}

Value Interpreter::call_loop(const Statement& loop, Scope* closure, const Value& iterable,
                             int depth) {
  const Budget::Level level(budget_);
  Captured captured(*this);
  run_loop(loop, iterable, depth, closure);
  return captured.take();
}

}  // namespace dure::jinja
