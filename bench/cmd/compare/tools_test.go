package main

import "testing"

func TestParseProducer(t *testing.T) {
	m, n, err := parseProducer("10 records sent, 5.0 records/sec (0.1 MB/sec), 1.0 ms avg latency, 2.0 ms max latency.\n" +
		"600000 records sent, 61000.5 records/sec (59.57 MB/sec), 3.10 ms avg latency, 300.00 ms max latency, 2 ms 50th, 10 ms 95th, 33 ms 99th, 50 ms 99.9th.\n")
	if err != nil || n != 600000 || m["MiB/s"] != 59.57 || m["p50 ms"] != 2 || m["p99 ms"] != 33 {
		t.Fatalf("got %v, %v, %v", m, n, err)
	}
	if _, _, err := parseProducer("nothing"); err == nil {
		t.Fatal("output without a summary was accepted")
	}
}

func TestParseConsumer(t *testing.T) {
	m, n, err := parseConsumer("start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec\n" +
		"2026-01-01 00:00:00:000, 2026-01-01 00:00:03:000, 100.0, 33.3, 102400, 34133.3, 1000, 2000, 50.5, 51200.0\n")
	if err != nil || n != 102400 || m["MiB/s"] != 50.5 {
		t.Fatalf("got %v, %v, %v", m, n, err)
	}
	if _, _, err := parseConsumer("start.time\n1"); err == nil {
		t.Fatal("a table without figures was accepted")
	}
}
