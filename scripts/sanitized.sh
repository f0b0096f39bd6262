#!/usr/bin/env bash
# The compiled loops under gcc's sanitizers: a read or write outside an array, or what C leaves undefined, ends the tests.
#
#   bash scripts/sanitized.sh [ARGUMENT...]     arguments for pytest; default: the tests that go through the loops
#
# Bounds of arrays are checked in the form that users have, too; strings and buffers that are read by pointer are not.
# Needs gcc with libasan and libubsan, and an environment with the `test` extra. Compiles in a copy, which is removed.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ $# -eq 0 ]; then
    set -- tests/index/test_compiled_*.py tests/index/test_{ranking,search_exactness,packing,keyword}.py
fi
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r agentscope_reme tests pyproject.toml hatch_build.py "$copy"
cd "$copy"
find . -name '*.so' -delete

libraries=
for name in asan ubsan; do
    library=$(gcc -print-file-name="lib$name.so")
    [ "${library#/}" != "$library" ] || { printf 'gcc has no lib%s.so\n' "$name" >&2; exit 2; }
    libraries="$libraries $library"
done
# Python keeps what it allocates for its own reasons to the end, and in blocks of its own unless told otherwise.
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 PYTHONMALLOC=malloc PYTHONPATH="$copy"
export CC=gcc CFLAGS="-fsanitize=address,undefined -fno-omit-frame-pointer" LDFLAGS="-fsanitize=address,undefined"
LD_PRELOAD="$libraries" python hatch_build.py
# CC and the like must not reach the tests of the build itself.
unset CC CFLAGS LDFLAGS
LD_PRELOAD="$libraries" python -c 'from agentscope_reme.index.compiled import form; assert form == "compiled", form'
# What the sanitizers say goes to the process's own output, which nothing may capture: it ends with that.
LD_PRELOAD="$libraries" python -m pytest -q -x -n 0 -s -p no:cacheprovider \
    --deselect tests/index/test_compiled_build.py "$@"
