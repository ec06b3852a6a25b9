// Package testcluster runs whole nodes in one process, with a disk, a network and clocks in memory, under trouble
// that is drawn from a seed, and checks what clients were told against what the replicas store in the end.
//
// A run is three combined nodes (internal/server, with everything in it but event loops and real files), two or
// three idempotent producers with acks=all, two consumers that read from leaders and followers, and one client that
// commits a group's offsets. For some seconds the nemesis kills, unplugs, stops and isolates nodes, cuts links one way
// or both, resets connections, slows the network and moves clocks. Then it heals everything; the cluster must become
// whole, and clients must succeed. What must hold (history.check):
//
//   - what was acknowledged under min.insync.replicas=2 of three replicas is stored, on all of them, where the
//     producer was told; all replicas are equal, so that they agree below the high watermark;
//   - nothing is stored twice, out of its producer's order, or without having been sent;
//   - what a consumer read from whichever replica stays as it was read;
//   - a leader epoch has one leader: one in the metadata, one that acknowledges;
//   - the high watermark that a client is told doesn't go back in a leader epoch;
//   - a committed offset that was acknowledged, or told, is kept;
//   - a producer is never told that the batches before aren't there.
//
// The nemesis keeps to what the cluster promises; see there. Package replica's own simulation has one partition of
// three replica managers, whose messages it moves by hand, without wire, raft, decisions or clients: it is finer and
// quicker, and knows what each replica believes at any time. Here only what clients see counts.
//
// # Reproducing
//
// A run happens in a bubble of testing/synctest. The seed decides the set-up, what clients mean to send, the latency
// of the n-th write of the n-th connection between two hosts, and the nemesis's choices. It doesn't decide the order in
// which goroutines run that are ready at the same simulated time, nor select among ready channels, nor the
// order of maps, nor hashicorp/raft's election timeouts, which are seeded by the system. So the same seed gives the
// same kind of trouble at about the same times, not the same run: a failure shows again in some of a few tries
// (-seed N -test.count 20), and its log must be kept (-log FILE).
//
// Who holds a mutex must not wait for anything that takes simulated time while another goroutine waits for that
// mutex: waiting for a mutex isn't durable in synctest's sense, so that time would stand still. Locks that are held
// across a request are channels.
package testcluster
