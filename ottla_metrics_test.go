package ottla_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ottla/ottla"
	"github.com/twmb/franz-go/pkg/kgo"
)

// get returns a page of the metrics address.
func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get("http://" + url)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %s", url, resp.Status)
	}
	return string(body)
}

// scrape returns the samples that /metrics tells, by name with labels.
func scrape(t *testing.T, addr string) map[string]string {
	t.Helper()
	samples := map[string]string{}
	for line := range strings.Lines(get(t, addr+"/metrics")) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && !strings.HasPrefix(line, "#") {
			samples[name] = value
		}
	}
	return samples
}

func TestMetrics(t *testing.T) {
	dir := t.TempDir()
	b, err := ottla.Start(t.Context(), ottla.Config{Dir: dir, MetricsAddress: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.DefaultProduceTopic("t"), kgo.AllowAutoTopicCreation())
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for range 3 {
		if err := cl.ProduceSync(t.Context(), kgo.StringRecord("x")).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	if page := get(t, b.MetricsAddr()+"/debug/pprof/goroutine?debug=1"); !strings.Contains(page, "ottla/wire") {
		t.Errorf("a profile of goroutines without those that serve connections: %.300s", page)
	}
	got := scrape(t, b.MetricsAddr())
	for name, want := range map[string]string{
		"kafka_server_replicamanager_leadercount":                              "1",
		"kafka_server_replicamanager_partitioncount":                           "1",
		"kafka_server_replicamanager_underreplicatedpartitions":                "0",
		"kafka_controller_kafkacontroller_globaltopiccount":                    "1",
		"kafka_controller_kafkacontroller_offlinepartitionscount":              "0",
		`kafka_network_requestmetrics_requests_total{request="Produce"}`:       "3",
		`kafka_log_logmanager_logdirectoryoffline{logdirectory="` + dir + `"}`: "0",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %s", name, got[name], want)
		}
	}
	for _, name := range []string{"kafka_server_socket_server_incoming_byte_total", `ottla_log_directory_log_bytes{logdirectory="` + dir + `"}`, "process_resident_memory_bytes"} {
		if got[name] == "" || got[name] == "0" {
			t.Errorf("%s is %q", name, got[name])
		}
	}
	if resp, err := http.Get("http://" + b.MetricsAddr() + "/other"); err != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("another path: %v, %v", resp, err)
	} else {
		_ = resp.Body.Close()
	}
}
