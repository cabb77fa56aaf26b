// sort, unique, min, max, sum, groupby, dictsort: filters that compare the items.
#include <fmt/format.h>

#include <algorithm>

#include "text/jinja_filter_support.h"

namespace dure::jinja {
namespace {

struct Keyed {
  Value key, item;
};

// Sorts stably; comparing may raise.
void sort_keyed(Interpreter& run, std::vector<Keyed>& items, bool reverse) {
  const auto less = [&](const Keyed& a, const Keyed& b) {
    return ordered(run.budget(), reverse ? b.key : a.key, reverse ? a.key : b.key, Order::less);
  };
  std::stable_sort(items.begin(), items.end(), less);
}

Value key_of(Interpreter& run, const Value& value, bool case_sensitive) {
  return case_sensitive ? value : without_case(run, value);
}

std::vector<AttributePath> paths_of(const std::optional<Value>& attribute) {
  std::vector<AttributePath> paths;
  if (!attribute || attribute->is_none()) return paths;
  if (!attribute->is_string()) {
    paths.emplace_back(*attribute);
    return paths;
  }
  std::string_view rest = attribute->bytes();
  while (true) {
    const size_t comma = std::min(rest.find(','), rest.size());
    paths.emplace_back(Value::text(std::string(rest.substr(0, comma))));
    if (comma == rest.size()) return paths;
    rest = rest.substr(comma + 1);
  }
}

Value sort(Interpreter& run, const Value& input, const Arguments& arguments) {
  const auto given = bind(arguments, "sort", {"reverse", "case_sensitive", "attribute"});
  const bool case_sensitive = flag(given[1], false);
  const std::vector<AttributePath> paths = paths_of(given[2]);
  std::vector<Keyed> items;
  for (Value& item : run.to_items(input)) {
    std::vector<Value> keys;
    keys.reserve(paths.size());
    for (const AttributePath& path : paths) {
      keys.push_back(key_of(run, path.get(run, item), case_sensitive));
    }
    Value key = paths.empty() ? key_of(run, item, case_sensitive) : run.list(std::move(keys));
    items.push_back({std::move(key), std::move(item)});
  }
  sort_keyed(run, items, flag(given[0], false));
  std::vector<Value> out;
  out.reserve(items.size());
  for (Keyed& keyed : items) out.push_back(std::move(keyed.item));
  return run.list(std::move(out));
}

Value unique(Interpreter& run, const Value& input, const Arguments& arguments) {
  const auto given = bind(arguments, "unique", {"case_sensitive", "attribute"});
  std::optional<AttributePath> path;
  if (given[1] && !given[1]->is_none()) path.emplace(*given[1]);
  const bool case_sensitive = flag(given[0], false);
  std::vector<Value> seen, out;
  for (Value& item : run.to_items(input)) {
    const Value key = key_of(run, path ? path->get(run, item) : item, case_sensitive);
    equal_keys(key, key);  // refuses what cannot be in a set
    const bool known = std::any_of(seen.begin(), seen.end(),
                                   [&](const Value& other) { return run.equal(other, key); });
    if (known) continue;
    seen.push_back(key);
    out.push_back(std::move(item));
  }
  const Value held = run.list(std::move(out));
  return run.generator([held, at = size_t{0}](Interpreter&, Value& next) mutable {
    if (at == held.as_sequence().items.size()) return false;
    next = held.as_sequence().items[at++];
    return true;
  });
}

template <Order order>
Value extreme(Interpreter& run, const Value& input, const Arguments& arguments) {
  const auto given = bind(arguments, "min", {"case_sensitive", "attribute"});
  std::optional<AttributePath> path;
  if (given[1] && !given[1]->is_none()) path.emplace(*given[1]);
  const bool case_sensitive = flag(given[0], false);
  Iterator items(run, input);
  std::optional<Keyed> best;
  for (Value item; items.next(item);) {
    const Value key = key_of(run, path ? path->get(run, item) : item, case_sensitive);
    if (!best || ordered(run.budget(), key, best->key, order)) best = Keyed{key, item};
  }
  if (best) return best->item;
  return Value::undefined("No aggregated item, sequence was empty.");
}

Value sum(Interpreter& run, const Value& input, const Arguments& arguments) {
  const auto given = bind(arguments, "sum", {"attribute", "start"});
  std::optional<AttributePath> path;
  if (given[0] && !given[0]->is_none()) path.emplace(*given[0]);
  Value total = given[1].value_or(Value::integer(0));
  if (total.is_string()) fail_type("sum() can't sum strings [use ''.join(seq) instead]");
  Iterator items(run, input);
  for (Value item; items.next(item);) {
    total = operate(run.budget(), Operation::add, total, path ? path->get(run, item) : item);
  }
  return total;
}

Value groupby(Interpreter& run, const Value& input, const Arguments& arguments) {
  const auto given = bind(arguments, "groupby", {"attribute", "default", "case_sensitive"}, 1);
  const AttributePath path(*given[0]);
  const bool case_sensitive = flag(given[2], false);
  const Value* fallback = given[1] && !given[1]->is_none() ? &*given[1] : nullptr;
  std::vector<Keyed> items;
  for (Value& item : run.to_items(input)) {
    Value key = key_of(run, path.get(run, item, fallback), case_sensitive);
    items.push_back({std::move(key), std::move(item)});
  }
  sort_keyed(run, items, false);
  std::vector<Value> groups;
  for (size_t i = 0; i < items.size();) {
    // The group is named by its first item, in that item's own case.
    const Value name = path.get(run, items[i].item, fallback);
    std::vector<Value> members;
    const Value key = items[i].key;
    for (; i < items.size() && run.equal(items[i].key, key); ++i) members.push_back(items[i].item);
    groups.push_back(
        Value::sequence({name, run.list(std::move(members))}, SequenceKind::group, &run.budget()));
  }
  return run.list(std::move(groups));
}

Value dictsort(Interpreter& run, const Value& input, const Arguments& arguments) {
  const auto given = bind(arguments, "dictsort", {"case_sensitive", "by", "reverse"});
  std::string by = "key";
  if (given[1] && given[1]->is_string()) by = given[1]->bytes();
  if (by != "key" && by != "value") {
    fail_value("You can only sort by either \"key\" or \"value\"");
  }
  if (input.is_undefined()) fail_undefined(input);
  if (!input.is(Kind::dict)) {
    throw JinjaError(Fault::undefined,
                     fmt::format("'{}' has no attribute 'items'", describe_type(input)));
  }
  std::vector<Keyed> items;
  for (const auto& [key, value] : input.as_dict().entries) {
    const Value sorted_by = key_of(run, by == "key" ? key : value, flag(given[0], false));
    items.push_back({sorted_by, run.tuple({key, value})});
  }
  sort_keyed(run, items, flag(given[2], false));
  std::vector<Value> out;
  out.reserve(items.size());
  for (Keyed& keyed : items) out.push_back(std::move(keyed.item));
  return run.list(std::move(out));
}

constexpr FilterEntry entries[] = {
    {"sort", &sort},
    {"unique", &unique},
    {"min", &extreme<Order::less>},
    {"max", &extreme<Order::greater>},
    {"sum", &sum},
    {"groupby", &groupby},
    {"dictsort", &dictsort},
};

}  // namespace

std::span<const FilterEntry> order_filters() {
  return entries;
}

}  // namespace dure::jinja
