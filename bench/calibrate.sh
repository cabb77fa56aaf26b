#!/usr/bin/env bash
# Fits the constants of a step's time to measured serving runs, says how far predictions are off for
# models and systems that they were not fitted on, and writes src/simulate/calibrated_constants.h.
# About three minutes. The figures of RESULTS.md come from here.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${1:-build/bin}
rows=${2:-testdata/measured/serving_measurements.csv}
"$bin/planner_accuracy" --serving "$rows" --kv testdata/measured/kv_capacity.csv \
  --write src/simulate/calibrated_constants.h || true # bars that are missed are in the report
clang-format-14 -i src/simulate/calibrated_constants.h
echo "written: src/simulate/calibrated_constants.h; rebuild, then run this again for the stated bands"
