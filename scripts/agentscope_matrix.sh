#!/usr/bin/env bash
# The tests that touch AgentScope, against each supported AgentScope release, each in an environment of its own.
#
#   bash scripts/agentscope_matrix.sh [FOLDER]      FOLDER keeps the environments; default: a temporary one, removed
#
#   AGENTSCOPE_VERSIONS="1.0.16 1.0.21"   which releases (default below: the floor, the releases that changed hooks or
#                                         formatters, the last 1.x)
#   AGENTSCOPE_EXCEPT=1.0.21              one of them to leave out, because it has been tested elsewhere
#   MATRIX_JOBS=3                         how many at a time
#   PYTHON=python3.12                     which interpreter
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
versions=
for version in ${AGENTSCOPE_VERSIONS:-1.0.16 1.0.18 1.0.20 1.0.21}; do
    [ "$version" = "${AGENTSCOPE_EXCEPT:-}" ] || versions="$versions $version"
done
jobs=${MATRIX_JOBS:-3}
python=${PYTHON:-python3}
if [ $# -gt 0 ]; then
    folder=$1
else
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder"

run_one() {
    local version=$1 venv="$2/$1"
    [ -x "$venv/bin/pip" ] || "$3" -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -e ".[test]" "agentscope==$version"
    "$venv/bin/python" - "$version" <<'PY'
import sys
from importlib.metadata import version
assert version("agentscope") == sys.argv[1], version("agentscope")
PY
    # The promises 6 to 11 and 13 to 15, of vault, index and pipelines, and the command line know no AgentScope.
    "$venv/bin/python" -m pytest -q -n 0 -p no:cacheprovider \
        tests/memory tests/hooks tests/adapters tests/toolkit tests/promises tests/e2e tests/support \
        tests/service/test_demo.py tests/service/test_offline_model.py \
        --ignore-glob 'tests/promises/test_promise_0[6-9]*' --ignore-glob 'tests/promises/test_promise_1[01345]*'
}

# Each run writes into a log of its own; the logs are printed whole and in order, so that two at a time stay readable.
export -f run_one
failed=0
printf '%s\n' $versions | xargs -P "$jobs" -I{} \
    bash -c 'set -euo pipefail; run_one "$1" "$2" "$3" >"$2/$1.log" 2>&1' _ {} "$folder" "$python" || failed=1
for version in $versions; do
    printf -- '--- AgentScope %s\n' "$version"
    if [ "$failed" -eq 0 ]; then tail -n 3 "$folder/$version.log"; else cat "$folder/$version.log"; fi
done
exit "$failed"
