#!/usr/bin/env bash
# run.sh BOOTSTRAP: the matrix of ../cells with librdkafka (confluent-kafka-python).
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
. "$ROOT/compat-tests/python/venv.sh"
export PYTHONPATH=$ROOT/compat-tests/python PYTHONDONTWRITEBYTECODE=1
python=$(venv librdkafka confluent-kafka==2.16.1)
play librdkafka "$python" "$HERE/client.py" "$BOOTSTRAP"
