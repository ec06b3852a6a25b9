#!/usr/bin/env bash
# growth.sh [-kafka] [flags of cmd/growth]: measures how a broker's CPU time a request grows with partitions and connections, and writes a
# table to bench/results. With -kafka, Kafka is measured after Ottla; that needs Java 17 or newer and Maven. Needs 11,000 open files a process.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ -x "$HERE/../bin/ottla" ] || { echo "growth.sh: bin/ottla is missing: run make build" >&2; exit 1; }
LIBS=()
if [ "${1:-}" = -kafka ]; then
	shift
	LIBS=(-libs "$("$HERE/jars.sh")")
fi
WORK=$(mktemp -d "${TMPDIR:-/tmp}/ottla-growth.XXXXXX")
trap 'rm -rf "$WORK"' EXIT
cd "$HERE"
go build -o "$WORK/growth" ./cmd/growth
TMPDIR="$WORK" "$WORK/growth" -ottla "$HERE/../bin/ottla" -results "$HERE/results" "${LIBS[@]}" "$@"
