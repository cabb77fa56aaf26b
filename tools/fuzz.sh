#!/usr/bin/env bash
# Builds every fuzzer with clang and runs each for some seconds from its committed corpus. New inputs go
# to a folder under the build; a crash leaves its input there and fails the run.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
seconds=$2

CC=clang-14 CXX=clang++-14 cmake -S . -B "$build" -G Ninja -DDURE_FUZZ=ON -DDURE_TESTS=OFF >/dev/null
mapfile -t fuzzers < <(git ls-files 'src/*_fuzz.cc' | xargs -n1 basename | sed 's/\.cc$//' | sort)
cmake --build "$build" -j"$(nproc)" --target "${fuzzers[@]}"
# Else the sanitizer reads the whole text again at each search in it.
export ASAN_OPTIONS=intercept_memmem=0
for fuzzer in "${fuzzers[@]}"; do
  found="$build/corpus/$fuzzer"
  seeds=()
  [ -d "testdata/fuzz/$fuzzer" ] && seeds+=("testdata/fuzz/$fuzzer")
  case $fuzzer in
    config_fuzz) seeds+=(testdata/configs/families) ;;
    fit_fuzz) seeds+=(testdata/configs/families testdata/fuzz/config_fuzz) ;;
  esac
  mkdir -p "$found"
  echo "fuzzing: $fuzzer for $seconds s"
  "$build/bin/$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
    -print_final_stats=1 -print_funcs=0 -artifact_prefix="$build/" -verbosity=0 "$found" "${seeds[@]}"
done
