#!/usr/bin/env bash
# run.sh BOOTSTRAP: the matrix of ../cells with @platformatic/kafka.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
. "$ROOT/compat-tests/node/install.sh"
folder=$(node_modules platformatic node@24.15.0 @platformatic/kafka@2.12.1)
play platformatic "$folder/node_modules/.bin/node" "$folder/client.mjs" "$BOOTSTRAP"
