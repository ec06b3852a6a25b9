package epoch

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"
)

// TestCache runs testdata/cache: what each command changes, and the entries after it.
func TestCache(t *testing.T) {
	c := &Cache{}
	datadriven.RunTest(t, "testdata/cache", func(t *testing.T, d *datadriven.TestData) string {
		var epoch, offset, end int64
		for _, a := range d.CmdArgs {
			var n int64
			if _, err := fmt.Sscan(a.Vals[0], &n); err != nil {
				t.Fatal(err)
			}
			switch a.Key {
			case "epoch":
				epoch = n
			case "offset":
				offset = n
			case "end":
				end = n
			}
		}
		var changed bool
		switch d.Cmd {
		case "assign":
			changed = c.Assign(int32(epoch), offset)
		case "truncate-from-end":
			changed = c.TruncateFromEnd(offset)
		case "truncate-from-start":
			changed = c.TruncateFromStart(offset)
		case "clear":
			c.Clear()
			changed = true
		case "end-offset":
			e, o := c.EndOffset(int32(epoch), end)
			return fmt.Sprintf("epoch=%d end=%d\n", e, o)
		case "for-offset":
			return fmt.Sprintf("epoch=%d\n", c.ForOffset(offset))
		}
		var out strings.Builder
		fmt.Fprintf(&out, "changed=%t latest=%d:", changed, c.Latest())
		for _, e := range c.Entries() {
			fmt.Fprintf(&out, " %d@%d", e.Epoch, e.StartOffset)
		}
		return out.String() + "\n"
	})
}

// TestInvariant: whatever is done, epochs and offsets of the entries grow.
func TestInvariant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &Cache{}
		n := rapid.Int64Range(-1, 30)
		t.Repeat(map[string]func(*rapid.T){
			"assign":     func(t *rapid.T) { c.Assign(int32(n.Draw(t, "epoch")), n.Draw(t, "offset")) },
			"fromEnd":    func(t *rapid.T) { c.TruncateFromEnd(n.Draw(t, "offset")) },
			"fromStart":  func(t *rapid.T) { c.TruncateFromStart(n.Draw(t, "offset")) },
			"checkpoint": func(*rapid.T) { c = NewCache(c.Entries()) },
			"": func(t *rapid.T) {
				es := c.Entries()
				for i := 1; i < len(es); i++ {
					if es[i].Epoch <= es[i-1].Epoch || es[i].StartOffset <= es[i-1].StartOffset {
						t.Fatalf("%v", es)
					}
				}
				parsed, err := ParseCheckpoint(AppendCheckpoint(nil, es))
				if err != nil || !slices.Equal(parsed, es) {
					t.Fatalf("%v became %v, %v", es, parsed, err)
				}
			},
		})
	})
}

// FuzzCheckpoint: what is parsed is written and parsed again to the same.
func FuzzCheckpoint(f *testing.F) {
	f.Add([]byte("0\n2\n0 0\n3 1204\n"))
	f.Add([]byte("0\n0\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		es, err := ParseCheckpoint(b)
		if err != nil {
			return
		}
		again, err := ParseCheckpoint(AppendCheckpoint(nil, es))
		if err != nil || !slices.Equal(again, es) {
			t.Errorf("%v became %v, %v", es, again, err)
		}
		NewCache(es)
	})
}
