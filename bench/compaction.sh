#!/usr/bin/env bash
# compaction.sh [flags of cmd/compaction]: compacts the same 1 GiB in Ottla and in Kafka in turn, and writes a table of times and
# CPU times to bench/results. See README.md for the method. Needs 16 GiB of disk, Java 17 or newer and Maven.
set -euo pipefail
HERE=$(cd "$(dirname "$0")" && pwd)
[ -x "$HERE/../bin/ottla" ] || { echo "compaction.sh: bin/ottla is missing: run make build" >&2; exit 1; }
LIBS=$("$HERE/jars.sh")
WORK=$(mktemp -d "${TMPDIR:-/tmp}/ottla-compaction.XXXXXX")
trap 'rm -rf "$WORK"' EXIT
cd "$HERE"
go build -o "$WORK/compaction" ./cmd/compaction
"$WORK/compaction" -ottla "$HERE/../bin/ottla" -libs "$LIBS" -dir "$WORK" -results "$HERE/results" "$@"
