#!/usr/bin/env bash
# Makes the files of the page (web/) for src/programs/web. Usage: tools/web_bundle.sh OUT
set -euo pipefail
cd "$(dirname "$0")/.."
modules=$(tools/node_modules.sh web)
exec node web/bundle.mjs "$modules" "$1"
