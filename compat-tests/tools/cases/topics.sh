# kafka-topics: create, list, describe, alter, delete, and what each refuses.
T=$P-topics
t topics-create 0 kafka-topics --create --topic "$T-a" --partitions 2 --replication-factor 1
t topics-create-exists 1 kafka-topics --create --topic "$T-a" --partitions 2 --replication-factor 1
t topics-create-if-not-exists 0 kafka-topics --create --if-not-exists --topic "$T-a"
t topics-create-defaults 0 kafka-topics --create --topic "$T.b_c"
t topics-create-config 0 kafka-topics --create --topic "$T-config" --partitions 1 --config retention.ms=1000000 --config cleanup.policy=compact
t topics-create-assignment 0 kafka-topics --create --topic "$T-assigned" --replica-assignment 1,1,1
t topics-create-assignment-unknown 1 kafka-topics --create --topic "$T-x" --replica-assignment 1:999
t topics-create-unknown-config 1 kafka-topics --create --topic "$T-x" --config nonsense=1
t topics-create-bad-config 1 kafka-topics --create --topic "$T-x" --config retention.ms=soon
t topics-create-bad-name 1 kafka-topics --create --topic "$T x"
t topics-create-two-replicas 1 kafka-topics --create --topic "$T-x" --replication-factor 2
t topics-create-no-partitions 1 kafka-topics --create --topic "$T-x" --partitions 0
t topics-list 0 kafka-topics --list --topic "$T.*"
t topics-describe 0 kafka-topics --describe --topic "$T-a"
t topics-describe-config 0 kafka-topics --describe --topic "$T-config"
t topics-describe-assignment 0 kafka-topics --describe --topic "$T-assigned"
SORT=1 t topics-describe-overrides 0 kafka-topics --describe --topics-with-overrides --topic "$T.*"
t topics-describe-unavailable 0 kafka-topics --describe --unavailable-partitions --topic "$T.*"
t topics-describe-under-replicated 0 kafka-topics --describe --under-replicated-partitions --topic "$T.*"
t topics-describe-at-min-isr 0 kafka-topics --describe --at-min-isr-partitions --topic "$T-a"
t topics-describe-missing 1 kafka-topics --describe --topic "$T-none"
t topics-describe-missing-if-exists 0 kafka-topics --describe --if-exists --topic "$T-none"
t topics-alter 0 kafka-topics --alter --topic "$T-a" --partitions 3
t topics-alter-fewer 1 kafka-topics --alter --topic "$T-a" --partitions 2
t topics-alter-missing 1 kafka-topics --alter --topic "$T-none" --partitions 2
t topics-describe-altered 0 kafka-topics --describe --topic "$T-a"
t topics-delete 0 kafka-topics --delete --topic "$T-a"
t topics-delete-missing 1 kafka-topics --delete --topic "$T-none"
t topics-delete-missing-if-exists 0 kafka-topics --delete --if-exists --topic "$T-none"
