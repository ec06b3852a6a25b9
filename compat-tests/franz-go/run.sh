#!/usr/bin/env bash
# run.sh BOOTSTRAP: the matrix of ../cells with franz-go.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
cd "$HERE" && go build -o "$CACHE/franz-go" .
play franz-go "$CACHE/franz-go" "$BOOTSTRAP"
