# Sorted where Java's maps order the lines by the topic's name.
# kafka-consumer-groups: a group that is read with, empty, reset, thinned out and deleted; and one with a member.
T=$P-groups G=$P-group
t groups-create 0 kafka-topics --create --topic "$T" --partitions 2
for i in {1..20}; do echo "k$i:v$i"; done > "$WORK/groups.txt"
IN=$WORK/groups.txt t groups-produce 0 kafka-console-producer --topic "$T" --reader-property parse.key=true --reader-property key.separator=:
SORT=1 t groups-consume 0 kafka-console-consumer --topic "$T" --group "$G" --from-beginning --max-messages 20 --timeout-ms 20000
KEEP="^GROUP|P-" t groups-list-all 0 kafka-groups --list
KEEP="^P-group$" t groups-list 0 kafka-consumer-groups --list
KEEP="^GROUP|^P-group " t groups-list-state 0 kafka-consumer-groups --list --state
KEEP="^GROUP|^P-group " t groups-list-type 0 kafka-consumer-groups --list --type classic
SORT=1 t groups-describe 0 kafka-consumer-groups --describe --group "$G"
SORT=1 t groups-describe-members 0 kafka-consumer-groups --describe --group "$G" --members
SORT=1 t groups-describe-state 0 kafka-consumer-groups --describe --group "$G" --state
SORT=1 t groups-describe-missing 0 kafka-consumer-groups --describe --group "$G-none"
reset() { local name=$1; shift; SORT=1 t groups-reset-$name 0 kafka-consumer-groups --reset-offsets --group "$G" --topic "$T" "$@"; }
reset dry-run --to-earliest --dry-run
reset earliest --to-earliest --execute
reset latest --to-latest --execute
reset offset --to-offset 3 --execute
reset shift --shift-by 2 --execute
reset beyond --to-offset 999 --execute
reset datetime --to-datetime 2020-01-01T00:00:00.000 --execute
reset duration --by-duration PT0S --dry-run
reset current --to-current --export
SORT=1 t groups-reset-new-group 0 kafka-consumer-groups --reset-offsets --group "$G-new" --topic "$T" --to-latest --execute
t groups-reset-missing-topic 0 kafka-consumer-groups --reset-offsets --group "$G" --topic "$T-none" --to-latest --execute
SORT=1 t groups-delete-offsets 0 kafka-consumer-groups --delete-offsets --group "$G" --topic "$T"
SORT=1 t groups-delete-offsets-missing-topic 0 kafka-consumer-groups --delete-offsets --group "$G" --topic "$T-none"
t groups-delete 0 kafka-consumer-groups --delete --group "$G"
t groups-delete-missing 0 kafka-consumer-groups --delete --group "$G-none"

# A group with a member: it stays until it is told to go, or a minute.
LAUNCH=exec tool kafka-console-consumer --topic "$T" --group "$G-live" --from-beginning --command-property client.id=live > "$WORK/live.out" 2>&1 < /dev/null & live=$!
for ((i = 0; i < 100; i++)); do
	if [ "$(grep -c ^v "$WORK/live.out" || true)" -ge 20 ]; then break; fi
	sleep 0.2
done
t groups-live-state 0 kafka-consumer-groups --describe --group "$G-live" --state
t groups-live-members 0 kafka-consumer-groups --describe --group "$G-live" --members --verbose
t groups-live-reset 0 kafka-consumer-groups --reset-offsets --group "$G-live" --topic "$T" --to-earliest --execute
t groups-live-delete 0 kafka-consumer-groups --delete --group "$G-live"
SORT=1 t groups-live-delete-offsets 0 kafka-consumer-groups --delete-offsets --group "$G-live" --topic "$T"
kill "$live"; wait "$live" 2> /dev/null || true
SORT=1 t groups-streams-reset 0 kafka-streams-application-reset --application-id "$P-app" --input-topics "$T" --dry-run
