// The page's long lists, each bounded: points of the front's plot, reasons of rejected layouts,
// ways out.
#pragma once

#include <string>

#include "base/json.h"
#include "plan/plan.h"

namespace dure {

double short_number(double value);  // four digits: nobody reads, or draws, more

// {names: [layout, …], rows: [[name, in flight, per user, per GPU, TTFT, TPOT, on the front, keeps
// the limits], …], left_out}: all of the front, and as many others as a plot shows.
Json points_json(const PlanAnswer& answer);

// [{class, words, count, reasons: [[layout, reason], …]}], each class with its nearest first.
Json rejected_json(const PlanAnswer& answer);

Json ways_json(const PlanAnswer& answer);

}  // namespace dure
