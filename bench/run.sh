#!/usr/bin/env bash
# Everything that bench/ measures, one after the other; about ten minutes. The figures of RESULTS.md
# come from here. Each figure stands beside the machine's own limit, measured in the same run.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${1:-build/bin}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

echo "== kernels"
"$bin/kernels_bench" --benchmark_min_time=0.2

echo "== the planner"
"$bin/plan_bench"

echo "== collectives between ranks, microseconds"
for ranks in 2 4; do
  mpirun $([ "$(id -u)" -eq 0 ] && echo --allow-run-as-root) --oversubscribe --bind-to none \
    -n "$ranks" "$bin/comm_bench"
done

echo "== the engine: Qwen3-30B-A3B with 8 layers, random weights (10 GB)"
if [ "$(df --output=avail -k "$folder" | tail -1)" -gt 12000000 ] &&
   [ "$(awk '/MemAvailable/{print $2}' /proc/meminfo)" -gt 14000000 ]; then
  "$bin/write_random_model" "$folder/model" 2048 8 32 4 128 128 8 768 151936
  for layout in "" "--tp 2" "--ep 2 --tp 2" "--pp 2"; do
    "$bin/dure" bench-local "$folder/model" $layout --prefill 512 --decode 16
    "$bin/dure" bench-local "$folder/model" $layout --prefill 32 --decode 16 --batch 16
  done
else
  echo "left out: it needs 12 GB of disk and 14 GB of memory"
fi

echo "== the demo model"
"$bin/dure" bench-local models/demo-moe --prefill 512 --decode 128
"$bin/dure" bench-local models/demo-moe --tp 2 --pp 2 --ep 2 --prefill 512 --decode 128
