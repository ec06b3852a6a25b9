package proc

import (
	"os"
	"testing"
	"time"
)

func TestCPUTime(t *testing.T) {
	before, err := cpuTime(os.Getpid())
	if err != nil || before <= 0 {
		t.Fatalf("got %v, %v", before, err)
	}
	for n := 0; ; n++ { // It counts what this loop uses, in steps finer than a tick of the system.
		now, err := cpuTime(os.Getpid())
		if err != nil || now < before || n == 1_000_000 {
			t.Fatalf("got %v after %v, %v", now, before, err)
		}
		if now > before {
			if now-before > time.Millisecond {
				t.Errorf("a step of %v", now-before)
			}
			return
		}
	}
}

func TestField(t *testing.T) {
	status := []byte("Name:\tx\nVmRSS:\t  120 kB\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t3\n")
	for name, want := range map[string]int64{"VmRSS:": 120, "voluntary_ctxt_switches:": 7, "nonvoluntary_ctxt_switches:": 3, "None:": 0} {
		if got := field(status, name); got != want {
			t.Errorf("%s: got %d, want %d", name, got, want)
		}
	}
}

func TestReadSelf(t *testing.T) {
	u, err := Read(os.Getpid())
	if err != nil || u.RSS < 1<<20 || u.Switches == 0 {
		t.Fatalf("got %+v, %v", u, err)
	}
}
