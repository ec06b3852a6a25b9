package ottla_test

import (
	"context"
	"testing"

	"github.com/ottla/ottla"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestPartitionsKeepConfiguration adds partitions to a compacted topic, which stays compacted (S16): a Connect
// worker loses its configuration otherwise.
func TestPartitionsKeepConfiguration(t *testing.T) {
	b, err := ottla.Start(t.Context(), ottla.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	admin, compact := kadm.NewClient(cl), "compact"
	if made, err := admin.CreateTopic(t.Context(), 1, 1, map[string]*string{"cleanup.policy": &compact}, "connect-configs"); err != nil || made.Err != nil {
		t.Fatal(err, made.Err)
	}
	if done, err := admin.UpdatePartitions(t.Context(), 3, "connect-configs"); err != nil || done.Error() != nil {
		t.Fatal(err, done.Error())
	}
	configs, err := admin.DescribeTopicConfigs(t.Context(), "connect-configs")
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, c := range configs[0].Configs {
		if c.Key == "cleanup.policy" {
			found = true
			if c.MaybeValue() != compact {
				t.Errorf("cleanup.policy is %s", c.MaybeValue())
			}
		}
	}
	topics, err := admin.ListTopics(t.Context(), "connect-configs")
	if err != nil || len(topics["connect-configs"].Partitions) != 3 || !found {
		t.Errorf("%d partitions, policy described: %t, %v", len(topics["connect-configs"].Partitions), found, err)
	}
}
