package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// network is a switch, in this process's own namespace, with a cable to each node's namespace.
type network struct {
	prefix string
	nodes  int
}

// enterNamespace starts this program again in a network namespace of its own; it returns only there, or with an error.
func enterNamespace() error {
	const mark = "OTTLA_CHAOS_NAMESPACE"
	if os.Getenv(mark) != "" {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command("unshare", append([]string{"-n", self}, os.Args[1:]...)...)
	cmd.Env = append(os.Environ(), mark+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	os.Exit(0)
	return nil
}

func command(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

func ip(args ...string) error { return command("ip", args...) }

// newNetwork plugs n nodes, 1 to n, into a switch.
func newNetwork(n int) (*network, error) {
	w := &network{prefix: fmt.Sprintf("otc%d-", os.Getpid()), nodes: n}
	for _, args := range [][]string{
		{"link", "set", "lo", "up"}, {"link", "add", "br0", "type", "bridge"}, {"link", "set", "br0", "up"},
		{"addr", "add", "10.77.0.254/24", "dev", "br0"},
	} {
		if err := ip(args...); err != nil {
			return nil, err
		}
	}
	for i := 1; i <= n; i++ {
		ns := w.namespace(i)
		for _, args := range [][]string{
			{"netns", "add", ns},
			{"link", "add", port(i), "type", "veth", "peer", "name", "eth0", "netns", ns},
			{"link", "set", port(i), "master", "br0", "up"},
			{"-n", ns, "link", "set", "eth0", "address", mac(i)},
			{"-n", ns, "addr", "add", w.address(i) + "/24", "dev", "eth0"},
			{"-n", ns, "link", "set", "eth0", "up"}, {"-n", ns, "link", "set", "lo", "up"},
		} {
			if err := ip(args...); err != nil {
				return w, err
			}
		}
	}
	return w, nil
}

func (w *network) namespace(i int) string { return fmt.Sprint(w.prefix, i) }
func (w *network) address(i int) string   { return fmt.Sprint("10.77.0.", i) }
func port(i int) string                   { return fmt.Sprint("v", i) }
func mac(i int) string                    { return fmt.Sprintf("02:00:00:00:00:%02x", i) }

// close removes the namespaces; the switch goes with this process.
func (w *network) close() error {
	var failed error
	for i := 1; i <= w.nodes; i++ {
		if err := ip("netns", "del", w.namespace(i)); err != nil {
			failed = err
		}
	}
	return failed
}

// run is a command in a node's namespace.
func (w *network) run(i int, name string, args ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", w.namespace(i), name}, args...)...)
}

// unplug takes a node's cable out of the switch: everything to and from it is lost without a word.
func (w *network) unplug(i int) error { return ip("link", "set", port(i), "nomaster") }

// plug undoes unplug.
func (w *network) plug(i int) error { return ip("link", "set", port(i), "master", "br0") }

// deafen loses all that one node sends to another, by a neighbour entry that nobody answers to; the other way works.
func (w *network) deafen(from, to int) error {
	return w.neighbour(from, to, "02:00:00:00:00:99")
}

// hear undoes deafen.
func (w *network) hear(from, to int) error { return w.neighbour(from, to, mac(to)) }

func (w *network) neighbour(from, to int, lladdr string) error {
	return ip("-n", w.namespace(from), "neigh", "replace", w.address(to), "lladdr", lladdr, "dev", "eth0", "nud", "permanent")
}

// heal undoes everything.
func (w *network) heal() error {
	for i := 1; i <= w.nodes; i++ {
		if err := w.plug(i); err != nil {
			return err
		}
		for j := 1; j <= w.nodes; j++ {
			if i != j {
				if err := w.hear(i, j); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
