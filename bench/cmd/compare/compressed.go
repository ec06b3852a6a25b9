package main

import (
	"context"

	"github.com/ottla/ottla/bench/internal/node"
	"github.com/ottla/ottla/bench/internal/proc"
	"github.com/ottla/ottla/bench/internal/stat"
	"github.com/ottla/ottla/bench/load"
)

// codecSlices is how often the codecs take turns: what disturbs the machine meets all. Each is the first, second and third of
// them as often: with one order the third needed 8 % more than the others, whichever it was.
const codecSlices = 9

// compressed measures batches of the same size, plain, zstd and lz4, with requests for each, and tells what the
// compressed ones cost beside the plain ones: medians of the turns, of the ratios as well, so that a turn that met the disk's
// write-back counts no more than another one.
func compressed(size int, requests int64) scenario {
	codecs := []struct {
		name  string
		codec load.Codec
	}{{"plain", load.Plain}, {"zstd", load.Zstd}, {"lz4", load.LZ4}}
	return scenario{name: "produce 16 KiB acks=1, compressed", run: func(_ context.Context, n *node.Node, topic string) (outcome, error) {
		micros, ratios := make([][]float64, len(codecs)), make([][]float64, len(codecs))
		for slice := range 1 + codecSlices {
			turnMicros := make([]float64, len(codecs))
			for turn := range codecs {
				i := (slice + turn) % len(codecs)
				c := codecs[i]
				before, err := proc.Read(n.Pid)
				if err != nil {
					return outcome{}, err
				}
				r, err := load.Produce{Address: n.Address, Topic: topic, Partitions: 1, BatchBytes: size, RecordBytes: 1024, Connections: 1, Depth: 5, Acks: 1,
					Requests: requests / codecSlices, Codec: c.codec}.Run()
				if err != nil {
					return outcome{}, err
				}
				after, err := proc.Read(n.Pid)
				if err != nil {
					return outcome{}, err
				}
				turnMicros[i] = float64(after.Sub(before).CPU.Microseconds()) / float64(r.Requests)
			}
			if slice == 0 {
				continue // It warms up.
			}
			for i, us := range turnMicros {
				micros[i] = append(micros[i], us)
				if plain := turnMicros[0]; plain > 0 {
					ratios[i] = append(ratios[i], us/plain)
				}
			}
		}
		m := measurement{}
		for i, c := range codecs {
			m["CPU us/request, "+c.name] = stat.Median(micros[i])
			if i > 0 && len(ratios[i]) > 0 {
				m["CPU, "+c.name+" to plain"] = stat.Median(ratios[i])
			}
		}
		return outcome{figures: m}, nil
	}}
}
