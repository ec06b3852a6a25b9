#!/usr/bin/env bash
# compare.sh [-quick] [flags of cmd/compare]: runs Ottla and Kafka in turn on this machine, drives both with the same loads, and
# writes a table of medians and ratios to bench/results. See README.md for the method. Needs Java 17 or newer and Maven.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ -x "$HERE/../bin/ottla" ] || { echo "compare.sh: bin/ottla is missing: run make build" >&2; exit 1; }
LIBS=$("$HERE/jars.sh")
WORK=$(mktemp -d "${TMPDIR:-/tmp}/ottla-bench.XXXXXX")
trap 'rm -rf "$WORK"' EXIT
cd "$HERE"
go build -o "$WORK/compare" ./cmd/compare
"$WORK/compare" -ottla "$HERE/../bin/ottla" -libs "$LIBS" -dir "$WORK" -results "$HERE/results" "$@"
