#!/usr/bin/env bash
# Format, include table, ISA symbols, clang-tidy. A file whose text and flags passed before is not
# read by clang-tidy again (stamps under the build folder).
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
status=0

if ! git ls-files '*.h' '*.cc' | xargs clang-format-14 --dry-run -Werror 2>"$build/format.log"; then
  grep -E 'error:' "$build/format.log" | cut -d: -f1 | sort | uniq -c | head -20
  echo "format: run \`make format\`"
  status=1
fi

python3 tools/check_includes.py || status=1
if [ -x tools/check_isa_symbols.sh ] && [ -d "$build/src/kernels" ]; then
  tools/check_isa_symbols.sh "$build" || status=1
fi
python3 tools/tidy.py "$build" || status=1
exit $status
