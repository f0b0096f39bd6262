#!/usr/bin/env bash
# Write every generated part of the pages anew: settings, promises, modules, the demo's output.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
for page in config_table promises module_list demo_output; do
    "${PYTHON:-python3}" "scripts/$page.py"
done
