package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/pgtest"
	"github.com/respawnd/respawnd/internal/porttest"
)

// clusterNodes is the number of nodes of the largest cluster that is measured.
const clusterNodes = 3

// clusterOptions say how a cluster is measured.
type clusterOptions struct {
	program string
	length  time.Duration // of each part
	rounds  int           // of messages, of the lone node and the cluster in turn
	servers int           // that are listed
	changes int           // of them per second
	fresh   int           // new servers per second beside them
	pairs   int           // of buddies on two nodes
}

// clustered starts a lone node, PostgreSQL and a cluster of three nodes, and measures the costs of
// the cluster.
func clustered(ctx context.Context, out io.Writer, opt clusterOptions) (err error) {
	dir, err := os.MkdirTemp("", "respawnd-load")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	lone, err := startDaemon(ctx, opt.program, dir, tableSettings...)
	if err != nil {
		return err
	}
	m := &clusterMeter{opt: opt, out: out, tally: newTally(), lone: &world{daemon: lone, run: "l"}}
	defer func() { err = errors.Join(err, lone.stop()) }()
	server, stop, err := pgtest.Open()
	if err != nil {
		return err
	}
	defer stop()
	m.start = func(n int) ([]*child, error) {
		database, err := server.Create()
		if err != nil {
			return nil, err
		}
		return startNodes(ctx, opt.program, filepath.Join(dir, strconv.Itoa(n)), database, n)
	}
	return m.measure(ctx)
}

// startNodes starts the nodes of a cluster on the loopback address, and waits until they
// see each other.
func startNodes(ctx context.Context, program, dir, database string, n int) (nodes []*child, err error) {
	peers, err := freePorts(n)
	if err != nil {
		return nil, err
	}
	for i, listen := range peers {
		own := nodeDir(dir, i)
		if err := makeNodeDir(dir, i); err != nil {
			return nodes, err
		}
		node, err := startDaemon(ctx, program, own, append(slices.Clone(tableSettings),
			"storage.engine=postgres", "storage.postgres.url="+database, "accounts.key_file="+filepath.Join(dir, "account.key"),
			"cluster.name=load", "cluster.node=n"+strconv.Itoa(i), "cluster.listen="+listen, "cluster.peers="+strings.Join(peers, ","))...)
		if err != nil {
			return nodes, err
		}
		nodes = append(nodes, node)
	}
	for _, node := range nodes {
		if err := node.awaits(ctx, "respawnd_cluster_nodes", len(nodes)); err != nil {
			return nodes, err
		}
	}
	return nodes, nil
}

func nodeDir(dir string, i int) string { return filepath.Join(dir, "node"+strconv.Itoa(i)) }

// makeNodeDir makes the folder of a node, with the key that all nodes have from the first.
func makeNodeDir(dir string, i int) error {
	const key = "data/webservices.key"
	if err := os.MkdirAll(filepath.Join(nodeDir(dir, i), "data"), 0o700); err != nil || i == 0 {
		return err
	}
	b, err := os.ReadFile(filepath.Join(nodeDir(dir, 0), key))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(nodeDir(dir, i), key), b, 0o600)
}

// freePorts returns addresses for nodes, which must know each other's.
func freePorts(n int) (out []string, err error) {
	for range n {
		at, err := porttest.TCP(netip.AddrFrom4([4]byte{127, 0, 0, 1}))
		if err != nil {
			return nil, err
		}
		out = append(out, at.String())
	}
	return out, nil
}

var errMetric = errors.New("a metric never had its value")

// awaits waits until a metric, with its labels, has a value.
func (c *child) awaits(ctx context.Context, name string, want int) error {
	line := fmt.Sprintf("%s %d", name, want)
	wait, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	for {
		text, err := c.metricsText(wait)
		switch {
		case err != nil && wait.Err() == nil:
			return err
		case strings.Contains("\n"+text, "\n"+line+"\n"):
			return nil
		}
		select {
		case <-wait.Done():
			return errors.Join(fmt.Errorf("%w: %s", errMetric, line), ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// metricsText returns the metrics as they are.
func (c *child) metricsText(ctx context.Context) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.at("admin").String()+"/metrics", nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}
