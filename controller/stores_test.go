package controller

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
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

// logDriver draws what raft does to its log, and keeps what it should have.
type logDriver struct {
	r    *rand.Rand
	term uint64
	next uint64
	want []*raft.Log
}

func newLogDriver(seed uint64) *logDriver {
	return &logDriver{r: rand.New(rand.NewPCG(seed, 1)), next: 1}
}

// step appends or cuts either end; s may be nil, to know the outcome alone.
func (d *logDriver) step(s raft.LogStore) error {
	d.term++
	var stored, cut []*raft.Log
	switch k := d.r.IntN(9); {
	case k < 5 || len(d.want) == 0:
		for range 1 + d.r.IntN(20) {
			stored = append(stored, &raft.Log{Index: d.next, Term: d.term, Data: bytes.Repeat([]byte{byte(d.next)}, 1+d.r.IntN(64<<10))})
			d.next++
		}
		d.want = append(d.want, stored...)
	case k < 7:
		n := 1 + d.r.IntN(len(d.want))
		cut, d.want = d.want[:n], d.want[n:]
	default:
		n := len(d.want) - 1 - d.r.IntN(min(len(d.want), 5))
		cut, d.want = d.want[n:], d.want[:n]
		d.next = cut[0].Index
	}
	switch {
	case s == nil:
		return nil
	case stored != nil:
		return s.StoreLogs(stored)
	}
	return s.DeleteRange(cut[0].Index, cut[len(cut)-1].Index)
}

// TestLogStoreModel appends, cuts either end and starts again at random, and compares with a list.
func TestLogStoreModel(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			d := newLogDriver(seed)
			dir := t.TempDir()
			s := openDisk(t, dir)
			for step := range 60 {
				if step%7 == 6 {
					closeStores(t, s)
					s = openDisk(t, dir)
				}
				if err := errors.Join(d.step(s.Log), wantLogs(s.Log, d.want)); err != nil {
					t.Fatalf("step %d: %v", step, err)
				}
			}
			closeStores(t, s)
		})
	}
}

// killedStoreDir names the directory of the process that TestLogStoreKilled kills.
const killedStoreDir = "OTTLA_TEST_KILLED_STORE"

// TestLogStoreKilled kills a process in the midst of it, again and again in one directory: what is there is what its
// last finished step left, or the one that it was at.
func TestLogStoreKilled(t *testing.T) {
	const seed = 7
	if dir := os.Getenv(killedStoreDir); dir != "" {
		s := openDisk(t, dir)
		d := newLogDriver(seed)
		done, err := strconv.Atoi(os.Getenv(killedStoreDir + "_DONE"))
		if err != nil {
			t.Fatal(err)
		}
		for range done {
			_ = d.step(nil) // Without a store nothing fails.
		}
		for {
			if err := d.step(s.Log); err != nil {
				t.Fatal(err)
			}
			fmt.Println("step")
		}
	}
	dir, done := t.TempDir(), 0
	r := rand.New(rand.NewPCG(seed, 2))
	for range 12 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestLogStoreKilled$")
		cmd.Env = append(os.Environ(), killedStoreDir+"="+dir, fmt.Sprintf("%s_DONE=%d", killedStoreDir, done))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for at := done + 1 + r.IntN(25); lines.Scan(); {
			if lines.Text() != "step" {
				t.Fatalf("after %d steps: %s", done, lines.Text())
			}
			if done++; done == at {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // It was killed.
		s := openDisk(t, dir)
		d := newLogDriver(seed)
		for range done {
			_ = d.step(nil)
		}
		if err := wantLogs(s.Log, d.want); err != nil {
			_ = d.step(nil)
			if later := wantLogs(s.Log, d.want); later != nil {
				t.Fatalf("killed after %d steps: %v; after one more: %v", done, err, later)
			}
			done++
		}
		closeStores(t, s)
	}
}
