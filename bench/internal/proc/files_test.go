package proc

import "testing"

func TestConnectionsTo(t *testing.T) {
	const table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
		"   0: 0100007F:A1B2 0100007F:2384 01 00000000:00000000 00:00000000 00000000     0        0 11 1 0 20 4 30 10 -1\n" + // ours, to 9092
		"   1: 0100007F:A1B3 0100007F:2384 01 00000000:00000000 00:00000000 00000000     0        0 12 1 0 20 4 30 10 -1\n" + // another's
		"   2: 0100007F:2384 0100007F:A1B2 01 00000000:00000000 00:00000000 00000000     0        0 11 1 0 20 4 30 10 -1\n" + // to us
		"   3: 0100007F:A1B4 0100007F:2384 06 00000000:00000000 00:00000000 00000000     0        0 11 1 0 20 4 30 10 -1\n" // ended
	if n := connectionsTo(table, []int{9092, 9093}, map[string]bool{"11": true}); n != 1 {
		t.Fatalf("got %d connections, want 1", n)
	}
}
