// Command load drives one broker with one load and prints what it did, and what it cost the broker.
//
//	load -addr HOST:PORT -pid PID -kind produce -size 16384 -requests 20000 -connections 1 -depth 5 -acks 1
//	load -addr HOST:PORT -pid PID -kind fetch -size 1048576 -requests 2000 -topic NAME
//	load -addr HOST:PORT -pid PID -kind park -connections 1000
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/ottla/ottla/bench/internal/proc"
	"github.com/ottla/ottla/bench/load"
)

type options struct {
	address, kind, topic                             string
	pid, size, record, connections, depth, partition int
	acks                                             int
	requests                                         int64
	keep, tls                                        bool
}

func main() {
	var o options
	flag.StringVar(&o.address, "addr", "localhost:9092", "the broker's address")
	flag.IntVar(&o.pid, "pid", 0, "the broker's process, to read its use; 0 for none")
	flag.StringVar(&o.kind, "kind", "produce", "produce, fetch, park or idle")
	flag.StringVar(&o.topic, "topic", "", "the topic; empty creates one and deletes it")
	flag.IntVar(&o.partition, "partitions", 1, "partitions of the topic")
	flag.IntVar(&o.size, "size", 16<<10, "bytes of a batch, or most bytes of a fetch")
	flag.IntVar(&o.record, "record", 1024, "bytes of a record's value")
	flag.IntVar(&o.connections, "connections", 1, "connections")
	flag.IntVar(&o.depth, "depth", 5, "Produce requests in flight on a connection")
	flag.IntVar(&o.acks, "acks", 1, "acks of a Produce request: 1 or -1")
	flag.Int64Var(&o.requests, "requests", 10_000, "requests on all connections together")
	flag.BoolVar(&o.tls, "tls", false, "talk TLS; the broker's certificate isn't verified")
	flag.BoolVar(&o.keep, "keep", false, "don't delete the topic")
	flag.Parse()
	if o.tls {
		o.address = load.SecureScheme + o.address
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(o options) (err error) {
	if o.topic == "" {
		o.topic = fmt.Sprintf("load-%d", time.Now().UnixNano())
		if err := load.CreateTopic(o.address, o.topic, o.partition); err != nil {
			return err
		}
		if !o.keep {
			defer func() { err = errors.Join(err, load.DeleteTopic(o.address, o.topic)) }()
		}
	}
	before, err := use(o.pid)
	if err != nil {
		return err
	}
	var r load.Result
	switch o.kind {
	case "produce":
		r, err = load.Produce{Address: o.address, Topic: o.topic, Partitions: o.partition, BatchBytes: o.size, RecordBytes: o.record,
			Connections: o.connections, Depth: o.depth, Acks: int16(o.acks), Requests: o.requests}.Run()
	case "fetch":
		r, err = load.Fetch{Address: o.address, Topic: o.topic, Partitions: o.partition, MaxBytes: o.size, Connections: o.connections, Requests: o.requests}.Run()
	case "park", "idle":
		return load.Park{Address: o.address, Topic: o.topic, Connections: o.connections, Idle: o.kind == "idle"}.Run(func() error {
			time.Sleep(time.Second)
			after, err := use(o.pid)
			fmt.Printf("%d connections: %d bytes each resident\n", o.connections, (after.RSS-before.RSS)/int64(o.connections))
			return err
		})
	default:
		return fmt.Errorf("no load is called %q", o.kind)
	}
	if err != nil {
		return err
	}
	after, err := use(o.pid)
	if err != nil {
		return err
	}
	d := after.Sub(before)
	fmt.Printf("topic %s: %d requests, %.1f MiB in %.2f s: %.0f requests/s, %.1f MiB/s; latency p50 %v p99 %v p99.9 %v\n", o.topic, r.Requests,
		float64(r.Bytes)/(1<<20), r.Elapsed.Seconds(), float64(r.Requests)/r.Elapsed.Seconds(), r.MiBPerSecond(), r.Latency(50), r.Latency(99), r.Latency(99.9))
	fmt.Printf("broker: CPU %.2f s, %.3f s/GB, %.1f us/request; %.2f context switches a request; resident %.1f MiB; load average %.1f\n", d.CPU.Seconds(),
		d.CPU.Seconds()/float64(r.Bytes)*1e9, float64(d.CPU.Microseconds())/float64(r.Requests), float64(d.Switches)/float64(r.Requests),
		float64(d.RSS)/(1<<20), proc.LoadAverage())
	return nil
}

func use(pid int) (proc.Usage, error) {
	if pid == 0 {
		return proc.Usage{}, nil
	}
	return proc.Read(pid)
}
