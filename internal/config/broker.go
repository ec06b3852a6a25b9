package config

// Broker is the settings of this node: typed where the program uses them, and by name through the
// embedded Layers for the rest. A Broker never changes; see With.
type Broker struct {
	Layers

	// NodeID is node.id, or broker.id where only that is set.
	NodeID int32
	// Rack is broker.rack; nil if unset.
	Rack *string
	// Roles is process.roles.
	Roles Roles
	// Endpoints is listeners, listener names and what is built on them.
	Endpoints Endpoints
	// Quorum is where the controllers are.
	Quorum Quorum
	// LogDirs is log.dirs, else log.dir; never empty.
	LogDirs []string
	// MetadataLogDir is metadata.log.dir, else the first of LogDirs.
	MetadataLogDir string

	Network     Network
	Replication Replication
	Topics      Topics
	Logs        Logs
	Groups      Groups
	Offsets     Offsets
}

// Roles is what this node does.
type Roles struct{ Broker, Controller bool }

// Quorum is the controllers as configured.
type Quorum struct {
	// Voters is controller.quorum.voters; empty for a controller that is alone.
	Voters []Voter
	// BootstrapServers is controller.quorum.bootstrap.servers.
	BootstrapServers []HostPort
	// ElectionTimeoutMs, FetchTimeoutMs and RequestTimeoutMs are controller.quorum.*.
	ElectionTimeoutMs, FetchTimeoutMs, RequestTimeoutMs int64
	// BrokerHeartbeatIntervalMs and BrokerSessionTimeoutMs are how a broker proves to be alive.
	BrokerHeartbeatIntervalMs, BrokerSessionTimeoutMs int64
	// InitialRegistrationTimeoutMs is how long a starting broker tries to register.
	InitialRegistrationTimeoutMs int64
	// ControlledShutdown is controlled.shutdown.enable.
	ControlledShutdown bool
}

// Network is the limits of connections and requests.
type Network struct {
	// SocketRequestMaxBytes is the largest frame.
	SocketRequestMaxBytes int32
	// QueuedMaxRequestBytes is the budget of requests being served; -1 where unset.
	QueuedMaxRequestBytes int64
	// QueuedMaxRequests is how many requests may be served at once.
	QueuedMaxRequests int32
	// MaxConnections, MaxConnectionsPerIP and its overrides by address or host name, and
	// listener.name.<listener>.max.connections by the listener's name.
	MaxConnections             int32
	MaxConnectionsPerIP        int32
	MaxConnectionsPerIPByHost  map[string]int32
	MaxConnectionsByListener   map[string]int32
	MaxConnectionCreationRate  int32
	ConnectionsMaxIdleMs       int64
	SocketListenBacklog        int32
	SocketSendBufferBytes      int32
	SocketReceiveBufferBytes   int32
	NumNetworkThreads          int32
	FetchMaxBytes              int32
	FetchSessionCacheSlots     int32
	RequestPartitionSizeLimit  int32
	MaxRequestTimeoutMs        int32
	ProducerPurgatoryThreshold int32
}

// RackAwareSelector is the value of replica.selector.class by which consumers read from replicas of their rack (KIP-392).
const RackAwareSelector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"

// Replication is how this broker leads followers and follows leaders.
type Replication struct {
	Fetchers                                            int32
	FetchMinBytes, FetchMaxBytes, FetchResponseMaxBytes int32
	FetchWaitMaxMs, FetchBackoffMs                      int64
	LagTimeMaxMs                                        int64
	SocketTimeoutMs                                     int64
	// SelectorClass is replica.selector.class; empty where consumers read from leaders.
	SelectorClass string
	// LeaderThrottledRate and FollowerThrottledRate bound throttled replicas, in bytes a second; 0 where unset.
	LeaderThrottledRate, FollowerThrottledRate int64
}

// Topics is how topics come to be.
type Topics struct {
	AutoCreate               bool
	NumPartitions            int32
	DefaultReplicationFactor int16
	DeleteEnable             bool
}

// Logs is the settings of all logs together; those of one topic are in Topic.
type Logs struct {
	RetentionCheckIntervalMs          int64
	FlushSchedulerIntervalMs          int64
	FlushOffsetCheckpointIntervalMs   int64
	FlushStartOffsetCheckpointMs      int64
	HighWatermarkCheckpointIntervalMs int64
	InitialTaskDelayMs                int64
	RecoveryThreadsPerDataDir         int32
	// MinFreeBytes is log.dir.min.free.bytes, -1 where the device decides.
	MinFreeBytes int64
	// AlterLogDirsThreads is 0 if it isn't set: one a log directory.
	AlterLogDirsThreads                 int32
	ProducerIDExpirationMs              int64
	ProducerIDExpirationCheckIntervalMs int64
	TransactionalIDExpirationMs         int64
	TransactionMaxTimeoutMs             int64
	CleanerEnable                       bool
	CleanerThreads                      int32
	CleanerDedupeBufferBytes            int64
	CleanerIOBufferBytes                int32
	CleanerIOBufferLoadFactor           float64
	CleanerMaxBytesPerSecond            float64
	CleanerBackoffMs                    int64
}

// Groups is the classic group protocol.
type Groups struct {
	MinSessionTimeoutMs     int32
	MaxSessionTimeoutMs     int32
	MaxSize                 int32
	InitialRebalanceDelayMs int32
}

// Offsets is committed offsets and their topic.
type Offsets struct {
	TopicPartitions          int32
	TopicReplicationFactor   int16
	TopicSegmentBytes        int32
	TopicCompression         int32
	MetadataMaxBytes         int32
	CommitTimeoutMs          int32
	LoadBufferBytes          int32
	RetentionMs              int64
	RetentionCheckIntervalMs int64
}

// With returns the same node with other dynamic settings; broker is those of this node, cluster those
// of all. Values that this version can't read are passed over.
func (b *Broker) With(broker, cluster map[string]string) *Broker {
	return newBroker(Layers{DynamicBroker: broker, DynamicDefault: cluster, Static: b.Static}, b.Endpoints)
}

// newBroker makes the typed view. Requires: the static values are valid.
func newBroker(l Layers, e Endpoints) *Broker {
	i32 := func(name string) int32 { return int32(l.Int(name)) }
	b := &Broker{Layers: l, Endpoints: e, NodeID: nodeID(&l), LogDirs: logDirs(&l), Roles: roles(&l), Quorum: quorum(&l)}
	if rack := l.Text("broker.rack"); rack != "" {
		b.Rack = &rack
	}
	b.MetadataLogDir = b.LogDirs[0]
	if dir := l.Text("metadata.log.dir"); dir != "" {
		b.MetadataLogDir = dir
	}
	b.Network = Network{
		SocketRequestMaxBytes:      i32("socket.request.max.bytes"),
		QueuedMaxRequestBytes:      l.Int("queued.max.request.bytes"),
		QueuedMaxRequests:          i32("queued.max.requests"),
		MaxConnections:             i32("max.connections"),
		MaxConnectionsPerIP:        i32("max.connections.per.ip"),
		MaxConnectionsPerIPByHost:  connectionOverrides(l.Text("max.connections.per.ip.overrides")),
		MaxConnectionsByListener:   l.byListener(e, "max.connections"),
		MaxConnectionCreationRate:  i32("max.connection.creation.rate"),
		ConnectionsMaxIdleMs:       l.Int("connections.max.idle.ms"),
		SocketListenBacklog:        i32("socket.listen.backlog.size"),
		SocketSendBufferBytes:      i32("socket.send.buffer.bytes"),
		SocketReceiveBufferBytes:   i32("socket.receive.buffer.bytes"),
		NumNetworkThreads:          i32("num.network.threads"),
		FetchMaxBytes:              i32("fetch.max.bytes"),
		FetchSessionCacheSlots:     i32("max.incremental.fetch.session.cache.slots"),
		RequestPartitionSizeLimit:  i32("max.request.partition.size.limit"),
		MaxRequestTimeoutMs:        i32("request.timeout.ms"),
		ProducerPurgatoryThreshold: i32("producer.purgatory.purge.interval.requests"),
	}
	b.Replication = Replication{
		Fetchers:              i32("num.replica.fetchers"),
		FetchMinBytes:         i32("replica.fetch.min.bytes"),
		FetchMaxBytes:         i32("replica.fetch.max.bytes"),
		FetchResponseMaxBytes: i32("replica.fetch.response.max.bytes"),
		FetchWaitMaxMs:        l.Int("replica.fetch.wait.max.ms"),
		FetchBackoffMs:        l.Int("replica.fetch.backoff.ms"),
		LagTimeMaxMs:          l.Int("replica.lag.time.max.ms"),
		SocketTimeoutMs:       l.Int("replica.socket.timeout.ms"),
		SelectorClass:         l.Text("replica.selector.class"),
		LeaderThrottledRate:   l.dynamicRate(leaderThrottleRate),
		FollowerThrottledRate: l.dynamicRate(followerThrottleRate),
	}
	b.Topics = Topics{
		AutoCreate:               l.Bool("auto.create.topics.enable"),
		NumPartitions:            i32("num.partitions"),
		DefaultReplicationFactor: int16(l.Int("default.replication.factor")),
		DeleteEnable:             l.Bool("delete.topic.enable"),
	}
	b.Logs = Logs{
		RetentionCheckIntervalMs:            l.Int("log.retention.check.interval.ms"),
		FlushSchedulerIntervalMs:            l.Int("log.flush.scheduler.interval.ms"),
		FlushOffsetCheckpointIntervalMs:     l.Int("log.flush.offset.checkpoint.interval.ms"),
		FlushStartOffsetCheckpointMs:        l.Int("log.flush.start.offset.checkpoint.interval.ms"),
		HighWatermarkCheckpointIntervalMs:   l.Int("replica.high.watermark.checkpoint.interval.ms"),
		InitialTaskDelayMs:                  l.Int("log.initial.task.delay.ms"),
		RecoveryThreadsPerDataDir:           i32("num.recovery.threads.per.data.dir"),
		MinFreeBytes:                        l.Int("log.dir.min.free.bytes"),
		AlterLogDirsThreads:                 i32("num.replica.alter.log.dirs.threads"),
		ProducerIDExpirationMs:              l.Int("producer.id.expiration.ms"),
		ProducerIDExpirationCheckIntervalMs: l.Int("producer.id.expiration.check.interval.ms"),
		TransactionalIDExpirationMs:         l.Int("transactional.id.expiration.ms"),
		TransactionMaxTimeoutMs:             l.Int("transaction.max.timeout.ms"),
		CleanerEnable:                       l.Bool("log.cleaner.enable"),
		CleanerThreads:                      i32("log.cleaner.threads"),
		CleanerDedupeBufferBytes:            l.Int("log.cleaner.dedupe.buffer.size"),
		CleanerIOBufferBytes:                i32("log.cleaner.io.buffer.size"),
		CleanerIOBufferLoadFactor:           l.Double("log.cleaner.io.buffer.load.factor"),
		CleanerMaxBytesPerSecond:            l.Double("log.cleaner.io.max.bytes.per.second"),
		CleanerBackoffMs:                    l.Int("log.cleaner.backoff.ms"),
	}
	b.Groups = Groups{
		MinSessionTimeoutMs:     i32("group.min.session.timeout.ms"),
		MaxSessionTimeoutMs:     i32("group.max.session.timeout.ms"),
		MaxSize:                 i32("group.max.size"),
		InitialRebalanceDelayMs: i32("group.initial.rebalance.delay.ms"),
	}
	b.Offsets = Offsets{
		TopicPartitions:          i32("offsets.topic.num.partitions"),
		TopicReplicationFactor:   int16(l.Int("offsets.topic.replication.factor")),
		TopicSegmentBytes:        i32("offsets.topic.segment.bytes"),
		TopicCompression:         i32("offsets.topic.compression.codec"),
		MetadataMaxBytes:         i32("offset.metadata.max.bytes"),
		CommitTimeoutMs:          i32("offsets.commit.timeout.ms"),
		LoadBufferBytes:          i32("offsets.load.buffer.size"),
		RetentionMs:              l.Int("offsets.retention.minutes") * minuteMs,
		RetentionCheckIntervalMs: l.Int("offsets.retention.check.interval.ms"),
	}
	return b
}
