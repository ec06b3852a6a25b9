// Command rolling works on one topic while nodes of a cluster are restarted, and counts what an application notices.
//
//	rolling create BROKERS TOPIC...       makes topics of six partitions and three replicas
//	rolling settled BROKERS               waits until every replica is in sync, as each node sees it
//	rolling coordinator BROKERS GROUP     prints the node that coordinates the group
//	rolling work BROKERS TOPIC GROUP      the franz-go client; Rolling.java and rolling.py are the others
//
// A client produces numbers with an idempotent producer and reads them with a group of two consumers that commit what they
// have read. It prints "ready" when records flow, goes on until its standard input ends ("kill" there tells that nodes will be
// killed), reads the rest and the whole topic once
// more, and prints a line of counts and PASS or FAIL. With ROLLING_LOG set, franz-go tells on standard error what it does.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func main() {
	if len(os.Args) < 3 {
		fail(fmt.Errorf("usage: rolling create|settled|coordinator|work BROKERS ARGUMENT..."))
	}
	brokers, rest := strings.Split(os.Args[2], ","), os.Args[3:]
	ctx := context.Background()
	var err error
	switch os.Args[1] {
	case "create":
		err = create(ctx, brokers, rest)
	case "settled":
		err = settled(ctx, brokers)
	case "coordinator":
		err = coordinator(ctx, brokers, rest[0])
	case "work":
		err = work(ctx, brokers, rest[0], rest[1], os.Stdin)
	default:
		err = fmt.Errorf("no %s", os.Args[1])
	}
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func create(ctx context.Context, brokers, topics []string) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		return err
	}
	defer cl.Close()
	req := kmsg.NewPtrCreateTopicsRequest()
	for _, name := range topics {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, 6, 3
		req.Topics = append(req.Topics, t)
	}
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return fmt.Errorf("topic %s: %w", t.Topic, err)
		}
	}
	return nil
}

// settled ends when each of the nodes sees all of them, and a leader and all replicas in sync for every partition.
func settled(ctx context.Context, brokers []string) error {
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	why := ""
	for {
		why = ""
		for _, b := range brokers {
			if why = unsettled(ctx, b, len(brokers)); why != "" {
				why = b + ": " + why
				break
			}
		}
		if why == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the cluster doesn't settle: %s", why)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func unsettled(ctx context.Context, broker string, nodes int) string {
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.RequestRetries(0))
	if err != nil {
		return err.Error()
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	resp, err := cl.SeedBrokers()[0].Request(ctx, kmsg.NewPtrMetadataRequest())
	if err != nil {
		return err.Error()
	}
	m := resp.(*kmsg.MetadataResponse)
	if len(m.Brokers) != nodes {
		return fmt.Sprintf("knows %d nodes", len(m.Brokers))
	}
	for _, t := range m.Topics {
		for _, p := range t.Partitions {
			if p.Leader < 0 || len(p.ISR) != len(p.Replicas) {
				return fmt.Sprintf("%s-%d has leader %d and %d of %d replicas in sync", *t.Topic, p.Partition, p.Leader, len(p.ISR), len(p.Replicas))
			}
		}
	}
	return ""
}

func coordinator(ctx context.Context, brokers []string, group string) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		return err
	}
	defer cl.Close()
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKey, req.CoordinatorKeys = group, []string{group}
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return err
	}
	for _, c := range resp.Coordinators {
		if err := kerr.ErrorForCode(c.ErrorCode); err != nil {
			return err
		}
		fmt.Println(c.NodeID)
	}
	return nil
}

// ended is closed when r ends; kill is called when r says so.
func ended(r io.Reader, kill func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(r); lines.Scan(); {
			if lines.Text() == "kill" {
				kill()
			}
		}
	}()
	return done
}
