package controller

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"

	"github.com/hashicorp/raft"
)

// openDisk opens the stores of a directory as a start does.
func openDisk(t *testing.T, dir string) Stores {
	t.Helper()
	s, err := DiskStores(dir, slog.New(slog.DiscardHandler))()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wantLogs demands that a store has exactly the given entries.
func wantLogs(s raft.LogStore, want []*raft.Log) error {
	first, err := s.FirstIndex()
	if err != nil {
		return err
	}
	last, err := s.LastIndex()
	if err != nil {
		return err
	}
	if len(want) == 0 {
		if first != 0 || last != 0 {
			return fmt.Errorf("[%d, %d] where nothing is left", first, last)
		}
		return nil
	}
	if first != want[0].Index || last != want[len(want)-1].Index {
		return fmt.Errorf("[%d, %d], want [%d, %d]", first, last, want[0].Index, want[len(want)-1].Index)
	}
	for _, w := range want {
		var got raft.Log
		if err := s.GetLog(w.Index, &got); err != nil {
			return fmt.Errorf("entry %d: %w", w.Index, err)
		}
		if got.Index != w.Index || got.Term != w.Term || !bytes.Equal(got.Data, w.Data) {
			return fmt.Errorf("entry %d isn't what was stored", w.Index)
		}
	}
	return nil
}

func closeStores(t *testing.T, s Stores) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSuffixDeleted cuts the end of the log, as a follower does whose last entries the new leader doesn't have, and
// starts again: what is left can be read. (raft-wal 0.4.0 sealed the segment without an index and read it no more.)
func TestSuffixDeleted(t *testing.T) {
	dir := t.TempDir()
	s := openDisk(t, dir)
	var want []*raft.Log
	for i := uint64(1); i <= 10; i++ {
		want = append(want, &raft.Log{Index: i, Term: 1, Data: []byte(fmt.Sprint("entry ", i))})
	}
	if err := s.Log.StoreLogs(want); err != nil {
		t.Fatal(err)
	}
	if err := s.Log.DeleteRange(8, 10); err != nil {
		t.Fatal(err)
	}
	want = want[:7]
	for range 2 {
		closeStores(t, s)
		s = openDisk(t, dir)
		if err := wantLogs(s.Log, want); err != nil {
			t.Fatal(err)
		}
		next := &raft.Log{Index: want[len(want)-1].Index + 1, Term: 2, Data: []byte("later")}
		if err := s.Log.StoreLog(next); err != nil {
			t.Fatal(err)
		}
		want = append(want, next)
	}
	closeStores(t, s)
}

// TestLogStoreModel appends, cuts either end and starts again at random, and compares with a list.
func TestLogStoreModel(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			dir := t.TempDir()
			s := openDisk(t, dir)
			var want []*raft.Log
			next := uint64(1)
			for step := range 60 {
				var err error
				what := ""
				switch k := r.IntN(10); {
				case k < 5 || len(want) == 0:
					what = "append"
					var more []*raft.Log
					for range 1 + r.IntN(20) {
						more = append(more, &raft.Log{Index: next, Term: uint64(step), Data: bytes.Repeat([]byte{byte(next)}, 1+r.IntN(64<<10))})
						next++
					}
					want, err = append(want, more...), s.Log.StoreLogs(more)
				case k < 7:
					what = "delete prefix"
					n := 1 + r.IntN(len(want))
					err = s.Log.DeleteRange(want[0].Index, want[n-1].Index)
					want = want[n:]
				case k < 9:
					what = "delete suffix"
					n := 1 + r.IntN(min(len(want), 5))
					cut := want[len(want)-n:]
					err = s.Log.DeleteRange(cut[0].Index, cut[n-1].Index)
					want = want[:len(want)-n]
					next = cut[0].Index
				default:
					what = "start again"
					closeStores(t, s)
					s = openDisk(t, dir)
				}
				if err = errors.Join(err, wantLogs(s.Log, want)); err != nil {
					t.Fatalf("step %d, %s: %v", step, what, err)
				}
			}
			closeStores(t, s)
		})
	}
}
