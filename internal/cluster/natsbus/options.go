package natsbus

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/cluster"
)

// Options are the settings of a Bus. Name and Node are required, and either Listen
// or URL.
type Options struct {
	Name string // of the cluster
	Node string // of this node

	Listen string      // host:port for the other nodes
	Peers  []string    // their addresses, host:port; this node may be among them
	URL    string      // of an external NATS, instead of Listen and Peers
	TLS    *tls.Config // of both sides; nil: none

	Version string // of the program, for the other nodes
	Schema  int    // of the store, for the other nodes

	Log        zerolog.Logger
	Registerer prometheus.Registerer // nil: no metrics

	// Silence is how long a node may send nothing before this one takes it for gone;
	// 0: DefaultSilence.
	Silence time.Duration
}

// DefaultSilence is the default of Options.Silence.
const DefaultSilence = 4 * time.Second

// Times of a node.
const (
	beatEvery = 500 * time.Millisecond
	// joinWait bounds how long a starting node waits for connections to others, and answerWait for
	// the answers of those that are connected. It asks every askEvery.
	joinWait   = 1500 * time.Millisecond
	answerWait = 5 * time.Second
	askEvery   = 100 * time.Millisecond
	// pingEvery is the interval at which the clocks of others are read.
	pingEvery = 5 * time.Second
)

// Limits of a node. They apply to all messages of others.
const (
	maxNodes    = 64       // live or remembered
	outMessages = 16_384   // waiting to be sent
	outBytes    = 64 << 20 // of them
	inMessages  = 16_384   // waiting, in total and for one subscriber
	inBytes     = 64 << 20 // waiting for one subscriber
	maxRequests = 512      // being handled at the same time
	// requestTime bounds a request without a deadline of its own.
	requestTime = 30 * time.Second
)

func (o *Options) check() error {
	if err := cluster.CheckName(o.Name); err != nil {
		return fmt.Errorf("cluster.name: %q: %w", o.Name, err)
	}
	if err := cluster.CheckName(o.Node); err != nil {
		return fmt.Errorf("cluster.node: %q: %w", o.Node, err)
	}
	if o.URL == "" && o.Listen == "" {
		return errors.New("cluster.listen: an address is needed, or cluster.nats_url")
	}
	return nil
}

func (o *Options) routes() (out []*url.URL) {
	for _, peer := range o.Peers {
		out = append(out, &url.URL{Scheme: "nats-route", Host: peer})
	}
	return out
}

// Loopback reports whether all peers, and the URL, are addresses of this machine.
func Loopback(listen string, peers []string, natsURL string) bool {
	if natsURL != "" {
		return !slices.ContainsFunc(strings.Split(natsURL, ","), func(one string) bool {
			u, err := url.Parse(strings.TrimSpace(one))
			return err != nil || !loopback(u.Hostname())
		})
	}
	host, _, _ := net.SplitHostPort(listen)
	return loopback(host) && !slices.ContainsFunc(peers, func(peer string) bool {
		host, _, err := net.SplitHostPort(peer)
		return err != nil || !loopback(host)
	})
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// NodeName returns the name of a node for the name of its machine.
func NodeName(host string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '-'
	}, host)
	return cmp.Or(clean[:min(len(clean), cluster.MaxName)], "node")
}
