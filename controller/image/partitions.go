package image

// NoLeader is the leader of a partition that has none.
const NoLeader int32 = -1

// Leader recovery states of a partition (KIP-704).
const (
	LeaderRecovered  int8 = 0
	LeaderRecovering int8 = 1
)

// Partition is the state of one partition. Slices are borrowed: not to be changed.
type Partition struct {
	// Leader is the broker that leads, NoLeader if none does.
	Leader int32
	// LeaderEpoch grows with every change of leader.
	LeaderEpoch int32
	// PartitionEpoch grows with every change to the partition.
	PartitionEpoch int32
	// Replicas are the assigned brokers, the preferred leader first.
	Replicas []int32
	// ISR are the in-sync replicas.
	// Invariant: a subset of Replicas; holds Leader unless there is none.
	ISR []int32
	// ELR are the eligible leader replicas, which left the ISR but still hold everything below the
	// high watermark (KIP-966); LastKnownELR are those that may have lost their tail since.
	ELR, LastKnownELR []int32
	// Adding and Removing are the replicas of a reassignment in progress.
	Adding, Removing []int32
	// Directories holds, for each of Replicas, the id of the log directory that stores it.
	Directories []ID
	// LeaderRecovery is LeaderRecovering after an unclean election until the new leader is ready.
	LeaderRecovery int8
}

// PreferredLeader is the first replica.
func (p *Partition) PreferredLeader() int32 {
	if len(p.Replicas) == 0 {
		return NoLeader
	}
	return p.Replicas[0]
}

// Ids that stand for no directory (KIP-858; Kafka: DirectoryId).
var (
	// MigratingDir is that of a replica whose broker hasn't told where it lies.
	MigratingDir = ID{}
	// UnassignedDir is that of a new replica whose broker chooses.
	UnassignedDir = ID{15: 1}
	// LostDir is that of a replica in a directory that is gone.
	LostDir = ID{15: 2}
)

// Directory is the id of the log directory that holds a broker's replica, zero if that isn't known.
func (p *Partition) Directory(broker int32) ID {
	for i, id := range p.Replicas {
		if id != broker || i >= len(p.Directories) {
			continue
		}
		switch dir := p.Directories[i]; dir {
		case UnassignedDir, LostDir:
			return ID{}
		default:
			return dir
		}
	}
	return ID{}
}

// ReplicaOnline tells whether the log directory of a replica is online; its broker may be fenced all the same.
func (m *Image) ReplicaOnline(p *Partition, broker int32) bool {
	b := m.Broker(broker)
	if b == nil {
		return false
	}
	for i, id := range p.Replicas {
		if id == broker && i < len(p.Directories) {
			return b.HasOnlineDir(p.Directories[i])
		}
	}
	return true
}
