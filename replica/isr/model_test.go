package isr

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestModel drives a State by random appends, fetches, changes and a controller that commits, refuses or
// stays silent, and holds what must be so whatever happens:
//
//   - the high watermark never passes a member of the ISR that the controller has, which the leader may not
//     have heard of, and never goes back;
//   - a follower that joins has all that is committed, and all of the leader's former epochs;
//   - one change is under way at a time, and it keeps the leader;
//   - who leaves wasn't caught up for the maximum lag.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		replicas := []int32{1, 2, 3, 4}[:rapid.IntRange(2, 4).Draw(t, "replicas")]
		epochStart := int64(rapid.IntRange(0, 5).Draw(t, "epochStart"))
		now := start
		s := NewState(1, replicas, replicas, epochStart, now)
		end, high := epochStart, int64(0)
		logs := map[int32]int64{}         // where the followers' logs end, in truth
		caughtUp := map[int32]time.Time{} // a bound of when they had all
		fenced := map[int32]bool{}
		controller := slices.Clone(replicas)
		for _, id := range replicas {
			caughtUp[id] = now
		}
		eligible := func(id int32, _ int64) bool { return !fenced[id] }
		advance := func() {
			to := s.Committable(end, now, lag, eligible)
			if to > high {
				high = to
			}
			for _, id := range controller {
				if id != 1 && logs[id] < high {
					t.Fatalf("high watermark %d is beyond %d, the end of member %d of the ISR %v", high, logs[id], id, controller)
				}
			}
		}
		any := func() int32 { return replicas[rapid.IntRange(1, len(replicas)-1).Draw(t, "id")] }
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			switch rapid.IntRange(0, 7).Draw(t, "step") {
			case 0:
				end += int64(rapid.IntRange(1, 3).Draw(t, "n"))
			case 1, 2, 3: // A follower appended what it was sent, and fetches what follows.
				id := any()
				logs[id] = int64(rapid.IntRange(int(logs[id]), int(end)).Draw(t, "to"))
				if logs[id] == end {
					caughtUp[id] = now
				}
				s.Fetched(id, Fetch{Offset: logs[id], LeaderEnd: end, At: now})
				was := s.Pending()
				if c := s.Expand(id, high, eligible); c != nil {
					if was != nil {
						t.Fatal("two changes at a time")
					}
					if logs[id] < high || logs[id] < epochStart || fenced[id] || !slices.Contains(c.ISR, 1) {
						t.Fatalf("%d joins at %d: high watermark %d, epoch start %d, fenced %v", id, logs[id], high, epochStart, fenced[id])
					}
				}
			case 4:
				now = now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "seconds")) * time.Second)
				if c := s.Shrink(end, now, lag); c != nil {
					for _, id := range c.Remove {
						if logs[id] == end && s.Follower(id).Heard && s.Follower(id).LogEndOffset == end || now.Sub(caughtUp[id]) <= lag {
							t.Fatalf("%d leaves, and was caught up at %v", id, caughtUp[id])
						}
					}
					if !slices.Contains(c.ISR, 1) {
						t.Fatal("the leader leaves")
					}
				}
			case 5: // The controller commits the change; the leader may hear of it, or not yet.
				if c := s.Pending(); c != nil {
					controller = slices.Clone(c.ISR)
					if rapid.Bool().Draw(t, "heard") {
						s.CommitISR(controller)
					}
				}
			case 6: // It refuses it, or an image comes.
				if s.Pending() != nil && rapid.Bool().Draw(t, "refused") && !slices.Equal(controller, s.Pending().ISR) {
					s.Abandon()
				} else {
					s.Commit(replicas, controller)
				}
			case 7:
				id := any()
				fenced[id] = !fenced[id]
				if fenced[id] && slices.Contains(controller, id) {
					controller = slices.DeleteFunc(controller, func(x int32) bool { return x == id })
					s.Commit(replicas, controller)
				}
			}
			advance()
			for _, id := range controller {
				if !slices.Contains(s.MaximalISR(), id) {
					t.Fatalf("the controller's ISR %v isn't within the maximal one %v", controller, s.MaximalISR())
				}
			}
		}
	})
}
