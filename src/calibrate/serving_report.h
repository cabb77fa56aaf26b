// Measured serving runs against the planner: tables of errors and the bars that it is held to.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "calibrate/config_finder.h"
#include "calibrate/serving_rows.h"

namespace dure {

struct ServingCheck {
  std::string text;  // the whole report
  int passed = 0;    // rows that could be predicted, and bars that hold
  int failed = 0;
  std::string constants;  // a new src/simulate/calibrated_constants.h, of these rows
};

struct ServingCheckOptions {
  bool leave_out = true;   // refit without each model and each system: minutes
  bool show_rows = false;  // a line for each
  bool progress = false;   // on stderr
};

ServingCheck check_serving(const std::vector<ServingRow>& rows, const ConfigFinder& configs,
                           const ServingCheckOptions& options);

}  // namespace dure
