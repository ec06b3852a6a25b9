# kafka-configs and kafka-client-metrics: every kind of resource, described, altered, put back, refused.
T=$P-configs
t configs-create 0 kafka-topics --create --topic "$T" --partitions 1
t configs-topic-describe-none 0 kafka-configs --describe --entity-type topics --entity-name "$T"
t configs-topic-alter 0 kafka-configs --alter --entity-type topics --entity-name "$T" --add-config 'retention.ms=1000000,cleanup.policy=[compact,delete]'
t configs-topic-describe 0 kafka-configs --describe --entity-type topics --entity-name "$T"
t configs-topic-describe-all 0 kafka-configs --describe --all --entity-type topics --entity-name "$T"
t configs-topic-delete 0 kafka-configs --alter --entity-type topics --entity-name "$T" --delete-config retention.ms
t configs-topic-described-deleted 0 kafka-configs --describe --entity-type topics --entity-name "$T"
KEEP=" P-configs " t configs-topics-describe 0 kafka-configs --describe --entity-type topics
t configs-topic-unknown-key 1 kafka-configs --alter --entity-type topics --entity-name "$T" --add-config nonsense=1
t configs-topic-bad-value 1 kafka-configs --alter --entity-type topics --entity-name "$T" --add-config retention.ms=soon
t configs-topic-delete-unset 0 kafka-configs --alter --entity-type topics --entity-name "$T" --delete-config retention.ms
t configs-topic-missing 1 kafka-configs --alter --entity-type topics --entity-name "$T-none" --add-config retention.ms=1
t configs-topic-describe-missing 0 kafka-configs --describe --entity-type topics --entity-name "$T-none"
t configs-broker-alter 0 kafka-configs --alter --entity-type brokers --entity-name 1 --add-config log.cleaner.threads=2
t configs-broker-describe 0 kafka-configs --describe --entity-type brokers --entity-name 1
t configs-broker-delete 0 kafka-configs --alter --entity-type brokers --entity-name 1 --delete-config log.cleaner.threads
t configs-broker-default-alter 0 kafka-configs --alter --entity-type brokers --entity-default --add-config log.cleaner.threads=1
t configs-broker-default-describe 0 kafka-configs --describe --entity-type brokers --entity-default
t configs-broker-default-delete 0 kafka-configs --alter --entity-type brokers --entity-default --delete-config log.cleaner.threads
t configs-broker-read-only 1 kafka-configs --alter --entity-type brokers --entity-name 1 --add-config node.id=2
t configs-broker-unknown 0 kafka-configs --describe --entity-type brokers --entity-name 999
# Only the names: what a start-up file sets differs, and the values are compared by ../diff.
NAMES=1 t configs-broker-describe-all 0 kafka-configs --describe --all --entity-type brokers --entity-name 1
KEEP='root|Dynamic' NAMES=1 t configs-broker-loggers 0 kafka-configs --describe --entity-type broker-loggers --entity-name 1
t configs-client-metrics-alter 0 kafka-configs --alter --entity-type client-metrics --entity-name "$P-cm" --add-config 'interval.ms=30000,metrics=[org.apache.kafka.]'
t configs-client-metrics-describe 0 kafka-configs --describe --entity-type client-metrics --entity-name "$P-cm"
t configs-client-metrics-unknown-key 1 kafka-configs --alter --entity-type client-metrics --entity-name "$P-cm" --add-config nonsense=1
t configs-group-alter 0 kafka-configs --alter --entity-type groups --entity-name "$P-group" --add-config consumer.session.timeout.ms=46000
t configs-group-describe 0 kafka-configs --describe --entity-type groups --entity-name "$P-group"
t configs-group-describe-all 0 kafka-configs --describe --all --entity-type groups --entity-name "$P-group"
t configs-group-delete 0 kafka-configs --alter --entity-type groups --entity-name "$P-group" --delete-config consumer.session.timeout.ms
t configs-group-bad-value 1 kafka-configs --alter --entity-type groups --entity-name "$P-group" --add-config consumer.session.timeout.ms=1
t configs-users-describe 0 kafka-configs --describe --entity-type users --entity-name "$P-user"
t configs-clients-describe 0 kafka-configs --describe --entity-type clients --entity-name "$P-client"
t client-metrics-alter 0 kafka-client-metrics --alter --name "$P-cm2" --metrics org.apache.kafka. --interval 30000 --match client_id=x
t client-metrics-describe 0 kafka-client-metrics --describe --name "$P-cm2"
KEEP="^P-" SORT=1 t client-metrics-list 0 kafka-client-metrics --list
t client-metrics-delete 0 kafka-client-metrics --delete --name "$P-cm2"
t client-metrics-delete-other 0 kafka-client-metrics --delete --name "$P-cm"
