#!/usr/bin/env bash
# Files compiled for one instruction set must define no symbol that the linker merges with the rest
# of the program (weak, unique, common): the copy kept might be one that other CPUs cannot run.
#   tools/check_isa_symbols.sh BUILD_FOLDER
set -euo pipefail
build=${1:?usage: tools/check_isa_symbols.sh BUILD_FOLDER}
mapfile -t objects < <(find "$build" -name 'isa_*.cc.o' | sort)
if [ "${#objects[@]}" -eq 0 ]; then
  echo "isa symbols: no isa_*.cc.o under $build, build dure_kernels first" >&2
  exit 1
fi
status=0
for object in "${objects[@]}"; do
  # Defined symbols of type W, V (weak), u (unique) or C (common). The pointer to the unwinder's
  # personality holds no code.
  if shared=$(nm -C --defined-only "$object" | grep -E '^[0-9a-f]* [WVwvuC] ' |
    grep -v ' DW\.ref\.__gxx_personality_v0$'); then
    echo "isa symbols: $object shares symbols with the rest of the program:"
    echo "$shared"
    status=1
  fi
done
[ "$status" -eq 0 ] && echo "isa symbols: ${#objects[@]} objects, none shared"
exit "$status"
