package server

import (
	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/replica"
	"github.com/ottla/ottla/wire"
	"github.com/prometheus/client_golang/prometheus"
)

// collector reads the node's counters at each scrape. Where Kafka has a metric, the name is the one
// that the Prometheus JMX exporter makes of Kafka's, so that dashboards keep working; the others begin with ottla.
type collector struct{ server *Server }

// metric describes one family without or with one label.
func metric(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// The families of the collector; constant data.
var (
	metricConnections = metric("kafka_server_socket_server_connection_count", "Open connections.")
	metricAccepted    = metric("kafka_server_socket_server_connection_creation_total", "Connections accepted since start.")
	metricRejected    = metric("ottla_connections_rejected_total", "Connections refused for a limit since start.")
	metricDisconnects = metric("ottla_connections_closed_for_bad_input_total", "Connections closed because of what the client sent.")
	metricIdleCloses  = metric("ottla_connections_closed_idle_total", "Connections closed by connections.max.idle.ms.")
	metricBudgetWaits = metric("ottla_request_memory_waits_total", "How often a connection had to wait for queued.max.request.bytes.")
	metricMemory      = metric("ottla_request_memory_bytes", "Memory taken by requests.")
	metricBytesIn     = metric("kafka_server_socket_server_incoming_byte_total", "Bytes read from clients.")
	metricBytesOut    = metric("kafka_server_socket_server_outgoing_byte_total", "Bytes written to clients.")
	metricRequests    = metric("kafka_network_requestmetrics_requests_total", "Requests handled since start.", "request")

	metricPartitions      = metric("kafka_server_replicamanager_partitioncount", "Partitions with a replica on this broker.")
	metricLeaders         = metric("kafka_server_replicamanager_leadercount", "Partitions led by this broker.")
	metricUnderReplicated = metric("kafka_server_replicamanager_underreplicatedpartitions", "Partitions led by this broker with replicas out of sync.")
	metricUnderMinISR     = metric("kafka_server_replicamanager_underminisrpartitioncount", "Partitions led by this broker with fewer replicas in sync than min.insync.replicas.")
	metricLeaderless      = metric("kafka_controller_kafkacontroller_offlinepartitionscount", "Partitions of the cluster without a leader.")
	metricTopics          = metric("kafka_controller_kafkacontroller_globaltopiccount", "Topics of the cluster.")
	metricAllPartitions   = metric("kafka_controller_kafkacontroller_globalpartitioncount", "Partitions of the cluster.")
	metricMetadataOffset  = metric("kafka_server_broker_metadata_metrics_last_applied_record_offset", "Offset of the newest metadata record applied.")

	metricDirOffline = metric("kafka_log_logmanager_logdirectoryoffline", "1 where a log directory is offline.", "logdirectory")
	metricDirTotal   = metric("ottla_log_directory_total_bytes", "Size of the volume of a log directory.", "logdirectory")
	metricDirUsable  = metric("ottla_log_directory_usable_bytes", "Free bytes of the volume of a log directory.", "logdirectory")
	metricDirSize    = metric("ottla_log_directory_log_bytes", "Bytes of the segments in a log directory.", "logdirectory")

	metricUncleanable      = metric("kafka_log_logcleanermanager_uncleanable_partitions_count", "Partitions that compaction has set aside as damaged.", "logdirectory")
	metricUncleanableBytes = metric("kafka_log_logcleanermanager_uncleanable_bytes", "Bytes of the partitions that compaction has set aside.", "logdirectory")
)

// Describe implements prometheus.Collector. The families aren't announced: which labels there are shows at a scrape.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	c.collectWire(out)
	c.collectPartitions(out)
	c.collectDirs(out)
}

func gauge[N int | int64](out chan<- prometheus.Metric, d *prometheus.Desc, value N, labels ...string) {
	out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), labels...)
}

func counter(out chan<- prometheus.Metric, d *prometheus.Desc, value int64, labels ...string) {
	out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), labels...)
}

func (c *collector) collectWire(out chan<- prometheus.Metric) {
	m := c.server.wire.Metrics()
	gauge(out, metricConnections, m.Connections.Load())
	gauge(out, metricMemory, c.server.wire.MemoryInUse())
	counter(out, metricAccepted, m.Accepted.Load())
	counter(out, metricRejected, m.Rejected.Load())
	counter(out, metricDisconnects, m.Disconnects.Load())
	counter(out, metricIdleCloses, m.IdleCloses.Load())
	counter(out, metricBudgetWaits, m.BudgetWaits.Load())
	counter(out, metricBytesIn, m.BytesIn.Load())
	counter(out, metricBytesOut, m.BytesOut.Load())
	for _, api := range wire.APIs(wire.RoleBroker | wire.RoleController) {
		if n := m.Requests(api.Key); n > 0 {
			counter(out, metricRequests, n, api.Name)
		}
	}
}

func (c *collector) collectPartitions(out chan<- prometheus.Metric) {
	img := c.server.controller.Image()
	leaderless := 0
	for t := range img.Topics() {
		for _, p := range t.Partitions() {
			if p.Leader == image.NoLeader {
				leaderless++
			}
		}
	}
	var held replica.Stats // A node that is controller only has none.
	if c.server.replicas != nil {
		held = c.server.replicas.Stats()
	}
	gauge(out, metricPartitions, held.Partitions)
	gauge(out, metricLeaders, held.Leaders)
	gauge(out, metricUnderReplicated, held.UnderReplicated)
	gauge(out, metricUnderMinISR, held.UnderMinISR)
	gauge(out, metricLeaderless, leaderless)
	gauge(out, metricTopics, img.NumTopics())
	gauge(out, metricAllPartitions, img.NumPartitions())
	gauge(out, metricMetadataOffset, img.Offset())
}

func (c *collector) collectDirs(out chan<- prometheus.Metric) {
	aside, asideBytes := map[string]int{}, map[string]int64{}
	for _, u := range c.server.logs.Uncleanable() {
		aside[u.Dir]++
		asideBytes[u.Dir] += u.Bytes
	}
	for _, d := range c.server.logs.Dirs() {
		offline := 0
		if d.Err != nil {
			offline = 1
		}
		gauge(out, metricDirOffline, offline, d.Path)
		if d.TotalBytes >= 0 {
			gauge(out, metricDirTotal, d.TotalBytes, d.Path)
			gauge(out, metricDirUsable, d.UsableBytes, d.Path)
		}
		var size int64
		for _, l := range d.Logs {
			size += l.SizeBytes()
		}
		gauge(out, metricDirSize, size, d.Path)
		gauge(out, metricUncleanable, aside[d.Path], d.Path)
		gauge(out, metricUncleanableBytes, asideBytes[d.Path], d.Path)
	}
}
