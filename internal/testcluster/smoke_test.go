package testcluster

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

func TestSmoke(t *testing.T) {
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(1, 3, slog.LevelInfo)
		c.network.setWeather(weather{min: 100 * time.Microsecond, max: 2 * time.Millisecond})
		for _, n := range c.nodes {
			n.start()
		}
		if !await(time.Minute, func() bool { return c.lacks() == "" }) {
			t.Errorf("not whole: %s", c.lacks())
		}
		time.Sleep(30*time.Second)
		for _, n := range c.nodes {
			n.bury(false)
		}
		for _, n := range c.nodes {
			<-n.ended
		}
		t.Log("\n" + c.events.String())
	})
	t.Log(time.Since(began))
}
