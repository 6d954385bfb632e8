package natsbus

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// Config is section cluster of the configuration. The comment of each field explains
// its key.
type Config struct {
	// Name of a cluster of several machines that act as one service, the same on all
	// of them; up to 63 letters, digits, dashes and underscores. Empty: this machine
	// is alone. A cluster needs storage.engine postgres.
	Name string `key:"name" as:"line"`
	// Name of this machine in the cluster, different on each. Empty: its host name.
	Node string `key:"node" as:"line"`
	// TCP address for the other machines of the cluster. Only they need to reach it.
	Listen string `key:"listen" default:":6222" as:"listen"`
	// Addresses of the other machines, host:port of their cluster.listen. One that is
	// reachable is enough; this machine may be among them.
	Peers []string `key:"peers" as:"line"`
	// A NATS server to use in place of listen and peers, such as
	// tls://USER:PASSWORD@nats.example.org:4222; several with commas between them. It is
	// never logged.
	NATSURL string `key:"nats_url" as:"line" secret:"true"`
	// How long a machine that starts waits for the lists of the others, {range}. Until then
	// it answers no game, and /readyz answers 503.
	JoinWait time.Duration `key:"join_wait" default:"10s" range:"0s to 5m"`
	// Certificates of the machines. They are needed unless all addresses above are on
	// this machine, or insecure is true.
	TLS TLSConfig `key:"tls"`
	// true or false: let machines of the cluster talk without certificates. Everyone
	// who reaches cluster.listen can then change the list and read messages.
	Insecure bool `key:"insecure" default:"false"`
}

// TLSConfig is section cluster.tls.
type TLSConfig struct {
	// File with the certificate of this machine, in PEM.
	Cert string `key:"cert" as:"text"`
	// File with its key.
	Key string `key:"key" as:"text"`
	// File with the certificate of the authority that signs for the machines of this
	// cluster, and for nothing else: each certificate of it makes a machine of
	// the cluster, whatever name it holds.
	CA string `key:"ca" as:"text"`
}

// On reports whether this machine is part of a cluster.
func (c *Config) On() bool { return c.Name != "" }

// Check returns the mistakes in a configuration. shared reports whether the store is
// one that several machines can use.
func (c *Config) Check(shared bool) error {
	if !c.On() {
		return nil
	}
	var errs []error
	o := c.options()
	errs = append(errs, o.check())
	for _, peer := range c.Peers {
		if _, port, err := net.SplitHostPort(peer); err != nil || port == "" {
			errs = append(errs, fmt.Errorf("cluster.peers: %q is not an address: write host:6222", peer))
		}
	}
	if !shared {
		errs = append(errs, errors.New("cluster.name: a cluster needs a store that all its machines share: set storage.engine to postgres"))
	}
	_, err := c.tls()
	return errors.Join(append(errs, err)...)
}

// tls reads the certificates; nil: none are used.
func (c *Config) tls() (*tls.Config, error) {
	switch t := c.TLS; {
	case t.Cert != "" && t.Key != "" && t.CA != "":
		return TLS(t.Cert, t.Key, t.CA)
	case t.Cert != "" || t.Key != "" || t.CA != "":
		return nil, errors.New("cluster.tls: cert, key and ca belong together; one is missing")
	case c.Insecure || Loopback(c.Listen, c.Peers, c.NATSURL):
		return nil, nil
	}
	return nil, errors.New("cluster.tls: certificates are needed, because other machines can reach cluster.listen or lie between; " +
		"set cluster.tls.cert, key and ca, or cluster.insecure: true on a network of your own")
}

// Local reports whether all nodes are on this machine.
func (c *Config) Local() bool { return Loopback(c.Listen, c.Peers, c.NATSURL) }

func (c *Config) options() Options {
	node := c.Node
	if node == "" {
		host, _ := os.Hostname() // without one, NodeName has another name
		node = NodeName(host)
	}
	return Options{Name: c.Name, Node: node, Listen: c.Listen, Peers: c.Peers, URL: c.NATSURL}
}

// Options returns the Options of a checked configuration.
func (c *Config) Options() (Options, error) {
	o := c.options()
	var err error
	o.TLS, err = c.tls()
	return o, err
}
