package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const topic = "chaos"

type options struct {
	bin, libs, java, dir, only string
	duration                   time.Duration
	partitions                 int
	interval                   time.Duration
	seed                       uint64
	keep                       bool
}

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "../bin/ottla", "Ottla's binary")
	flag.StringVar(&o.libs, "kafka", "", "folder of Kafka's jars, to run Kafka instead")
	flag.StringVar(&o.java, "java", "java", "the Java for Kafka")
	flag.StringVar(&o.dir, "dir", "", "where nodes keep their data; a temporary folder if empty")
	flag.StringVar(&o.only, "faults", "", "comma-separated faults; all if empty")
	flag.DurationVar(&o.duration, "duration", 10*time.Minute, "for how long")
	flag.IntVar(&o.partitions, "partitions", 6, "partitions of the topic")
	flag.DurationVar(&o.interval, "interval", 5*time.Millisecond, "time between two records of a partition")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "seed of the faults")
	flag.BoolVar(&o.keep, "keep", false, "keep the data")
	flag.Parse()
	if err := enterNamespace(); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

func run(o options) (err error) {
	var kinds []fault
	for _, f := range faults() {
		if o.only == "" || slices.Contains(strings.Split(o.only, ","), f.name) {
			kinds = append(kinds, f)
		}
	}
	if len(kinds) == 0 {
		return errors.New("no such fault")
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "ottla-chaos-"); err != nil {
			return err
		}
	}
	c, stop, err := start(o)
	defer stop()
	if err != nil {
		return err
	}
	fmt.Printf("seed %d, data in %s\n", o.seed, o.dir)
	histories, finish, err := load(c, o)
	if err != nil {
		return err
	}
	violations := breakThings(c, o, kinds, histories)
	finish()
	if err := c.awaitEqual(2 * time.Minute); err != nil {
		violations = append(violations, err.Error())
	}
	if err := c.stopAll(); err != nil {
		return err
	}
	var acked, failed, read int
	for p, h := range histories {
		a, f, r := h.counts()
		acked, failed, read = acked+a, failed+f, read+r
		replicas := map[int][]entry{}
		for _, n := range c.nodes {
			log, err := readReplica(filepath.Join(n.data(), fmt.Sprintf("%s-%d", topic, p)))
			if err != nil {
				violations = append(violations, fmt.Sprintf("node %d: %v", n.id, err))
			}
			replicas[n.id] = log
		}
		violations = append(violations, h.check(replicas)...)
	}
	fmt.Printf("records: %d acknowledged, %d of unknown fate, %d read\n", acked, failed, read)
	for _, v := range violations {
		fmt.Println("VIOLATION", v)
	}
	if len(violations) > 0 {
		return fmt.Errorf("%d violations; data in %s", len(violations), o.dir)
	}
	fmt.Println("no violation")
	if !o.keep {
		return os.RemoveAll(o.dir)
	}
	return nil
}

// start starts the cluster and makes the topic.
func start(o options) (c *cluster, stop func(), err error) {
	var s software = ottla{o.bin}
	if o.libs != "" {
		s = kafka{o.java, o.libs}
	} else if o.bin, err = filepath.Abs(o.bin); err != nil {
		return nil, func() {}, err
	}
	w, err := newNetwork(3)
	c = &cluster{network: w, topic: topic}
	stop = func() {
		for _, n := range c.nodes {
			_ = n.kill() // Its data has been read, or isn't wanted.
		}
		if w != nil {
			_ = w.close() // The namespaces are empty.
		}
		if c.clientLog != nil {
			_ = c.clientLog.Close() // For people only.
		}
	}
	if err != nil {
		return c, stop, err
	}
	if c.clientLog, err = os.Create(filepath.Join(o.dir, "clients.log")); err != nil {
		return c, stop, err
	}
	for id := 1; id <= 3; id++ {
		n, err := newNode(id, w, s, o.dir, "")
		if err != nil {
			return c, stop, err
		}
		c.nodes = append(c.nodes, n)
	}
	for _, n := range c.nodes {
		if err := n.start(); err != nil {
			return c, stop, err
		}
	}
	if c.client, err = c.newClient(); err != nil {
		return c, stop, err
	}
	c.admin = kadm.NewClient(c.client)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for {
		made, err := c.admin.CreateTopic(ctx, int32(o.partitions), 3, nil, topic)
		if err == nil && made.Err == nil || strings.Contains(fmt.Sprint(err, made.Err), "exists") {
			break
		}
		if ctx.Err() != nil {
			return c, stop, fmt.Errorf("make the topic: %w", errors.Join(err, made.Err))
		}
		wait(ctx, 200*time.Millisecond)
	}
	return c, stop, c.awaitWhole(ctx, 2*time.Minute)
}

// load starts producers and consumers; finish ends them once everything sent has its answer.
func load(c *cluster, o options) (histories []*history, finish func(), err error) {
	producing, stopProducing := context.WithCancel(context.Background())
	consuming, stopConsuming := context.WithCancel(context.Background())
	var producers, consumers sync.WaitGroup
	var clients []*kgo.Client
	var reader *consumer
	finish = func() {
		stopProducing()
		// What isn't acknowledged long after the cluster is whole has no fate that could be waited for.
		late := time.AfterFunc(2*time.Minute, func() {
			for _, cl := range clients {
				cl.Close()
			}
		})
		producers.Wait()
		late.Stop()
		awaitRead(histories, time.Minute)
		stopConsuming()
		consumers.Wait()
		if reader != nil {
			for err, times := range reader.errors {
				fmt.Printf("consumer, %d times: %s\n", times, err)
			}
		}
		for _, cl := range clients {
			cl.Close()
		}
	}
	offsets := map[int32]kgo.Offset{}
	for p := range int32(o.partitions) {
		h := newHistory(p)
		histories = append(histories, h)
		offsets[p] = kgo.NewOffset().At(0)
		cl, err := c.newClient(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()),
			kgo.ProducerLinger(0), kgo.MaxBufferedRecords(5000))
		if err != nil {
			finish()
			return nil, nil, err
		}
		clients = append(clients, cl)
		producers.Go(func() { (&producer{cl, h, topic, o.interval}).run(producing) })
	}
	cl, err := c.newClient(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: offsets}), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchMaxWait(500*time.Millisecond))
	if err != nil {
		finish()
		return nil, nil, err
	}
	clients = append(clients, cl)
	reader = &consumer{cl, histories, map[string]int{}}
	consumers.Go(func() { reader.run(consuming) })
	return histories, finish, nil
}

// awaitRead waits until consumers have read all that was acknowledged; what they haven't is a violation.
func awaitRead(histories []*history, within time.Duration) {
	late := time.Now().Add(within)
	for _, h := range histories {
		for !h.allRead() {
			if time.Now().After(late) {
				h.mu.Lock()
				h.violate("consumers have read %d of %d acknowledged records %v after the last", len(h.read), len(h.acked), within)
				h.mu.Unlock()
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// breakThings runs faults, one after the other, until the time is over, and reports how long each kept producers
// waiting. The cluster is whole at the end, or a violation says that it isn't.
func breakThings(c *cluster, o options, kinds []fault, histories []*history) (violations []string) {
	r := rand.New(rand.NewPCG(o.seed, 0))
	ctx, cancel := context.WithTimeout(context.Background(), o.duration)
	defer cancel()
	gaps := map[string][]time.Duration{}
	wait(ctx, 2*time.Second)
	for round := 0; ctx.Err() == nil; round++ {
		f := kinds[round%len(kinds)]
		if round%len(kinds) == 0 {
			r.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
			f = kinds[0]
		}
		for _, h := range histories {
			h.mark()
		}
		began := time.Now()
		err := f.run(ctx, c, r)
		if repaired := c.repair(); err == nil {
			err = repaired
		}
		if err != nil {
			return append(violations, fmt.Sprintf("%s: %v", f.name, err))
		}
		broken := time.Since(began)
		if err := c.awaitWhole(context.Background(), 90*time.Second); err != nil {
			return append(violations, fmt.Sprintf("%s: %v", f.name, err))
		}
		wait(ctx, 500*time.Millisecond)
		var worst time.Duration
		for _, h := range histories {
			worst = max(worst, h.gap())
		}
		gaps[f.name] = append(gaps[f.name], worst)
		fmt.Printf("%-16s broken %5.1f s, whole %5.1f s later, longest time without an acknowledgement %6.2f s\n",
			f.name, broken.Seconds(), time.Since(began).Seconds()-broken.Seconds(), worst.Seconds())
	}
	fmt.Printf("\n%-16s %6s %10s %10s\n", "fault", "times", "median s", "max s")
	for _, name := range slices.Sorted(maps.Keys(gaps)) {
		g := gaps[name]
		slices.Sort(g)
		fmt.Printf("%-16s %6d %10.2f %10.2f\n", name, len(g), g[len(g)/2].Seconds(), g[len(g)-1].Seconds())
	}
	return violations
}
