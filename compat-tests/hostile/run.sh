#!/usr/bin/env bash
# run.sh: attacks brokers of its own (a BOOTSTRAP is not used), with 100,000 hostile frames unless OTTLA_HOSTILE_FRAMES says otherwise.
set -uo pipefail
cd "$(dirname "$0")"
export OTTLA_BIN=${OTTLA_BIN:-$(cd ../.. && pwd)/bin/ottla} OTTLA_HOSTILE_FRAMES=${OTTLA_HOSTILE_FRAMES:-100000}
out=$(mktemp)
go test -count=1 -v . | tee "$out"
status=${PIPESTATUS[0]}
echo "hostile: $(grep -c '^--- PASS' "$out") passed, $(grep -c '^--- FAIL' "$out") failed, 0 skipped"
rm -f "$out"
exit "$status"
