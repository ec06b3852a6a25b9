package proc

import (
	"os"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	got, err := parseStat([]byte("12 (a) b) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20\n"))
	if err != nil || got != 2*time.Second {
		t.Fatalf("got %v, %v; want 2s", got, err)
	}
	if _, err := parseStat([]byte("12 (x) S 1")); err == nil {
		t.Fatal("a short line was accepted")
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
