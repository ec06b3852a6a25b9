#!/usr/bin/env bash
# cluster.sh [flags of cmd/cluster]: runs three nodes of Ottla and three of Kafka on this machine with many partitions, one system
# after the other, and with replicated loads, in turn, and writes a table to bench/results. See README.md for the method. Needs
# Java 17 or newer, Maven, 4 GiB of memory, 20 GiB of disk, and leave to open 60,000 files a process.
set -euo pipefail
HERE=$(cd "$(dirname "$0")" && pwd)
[ -x "$HERE/../bin/ottla" ] || { echo "cluster.sh: bin/ottla is missing: run make build" >&2; exit 1; }
LIBS=$("$HERE/jars.sh")
WORK=$(mktemp -d "${TMPDIR:-/tmp}/ottla-cluster.XXXXXX")
trap 'rm -rf "$WORK"' EXIT
cd "$HERE"
go build -o "$WORK/cluster" ./cmd/cluster
"$WORK/cluster" -ottla "$HERE/../bin/ottla" -libs "$LIBS" -dir "$WORK" -results "$HERE/results" "$@"
