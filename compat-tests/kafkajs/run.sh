#!/usr/bin/env bash
# run.sh BOOTSTRAP: the matrix of ../cells with kafkajs.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
. "$ROOT/compat-tests/node/install.sh"
folder=$(node_modules kafkajs node@24.15.0 kafkajs@2.2.4 kafkajs-snappy@1.1.0 lz4-napi@2.10.0)
play kafkajs "$folder/node_modules/.bin/node" "$folder/client.mjs" "$BOOTSTRAP"
