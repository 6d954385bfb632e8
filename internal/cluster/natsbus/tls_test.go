package natsbus

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// authority has its files in a folder.
type authority struct {
	*Authority
	t   *testing.T
	dir string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	_, cert, key, err := NewAuthority()
	if err == nil {
		a.Authority, err = ReadAuthority(cert, key)
	}
	if err != nil {
		t.Fatal(err)
	}
	a.write("ca", cert, key)
	return a
}

// write writes NAME.crt and NAME.key.
func (a *authority) write(name string, cert, key []byte) {
	a.t.Helper()
	for end, content := range map[string][]byte{".crt": cert, ".key": key} {
		if err := os.WriteFile(filepath.Join(a.dir, name+end), content, 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
}

// node returns the settings of a node with a certificate.
func (a *authority) node(name string) *tls.Config {
	a.t.Helper()
	cert, key, err := a.Node(name)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(name, cert, key)
	c, err := a.load(name)
	if err != nil {
		a.t.Fatal(err)
	}
	return c
}

func (a *authority) load(name string) (*tls.Config, error) {
	at := func(file string) string { return filepath.Join(a.dir, file) }
	return TLS(at(name+".crt"), at(name+".key"), at("ca.crt"))
}

// Nodes with certificates of one authority form a cluster; one without, and one of
// another authority, are kept out.
func TestCertificates(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t), newAuthority(t)
	join := func(name string, c *tls.Config, peers ...string) *Bus {
		b, err := Open(t.Context(), Options{Name: "test", Node: name, Listen: "127.0.0.1:0", Peers: peers, TLS: c, Log: zerolog.Nop(), Silence: silence})
		if err != nil {
			t.Fatal(err)
		}
		b.Announce()
		t.Cleanup(func() { _ = b.Close() })
		return b
	}
	a := join("a", ours.node("a"))
	strangers := []*Bus{join("x", nil, a.Addr()), join("y", theirs.node("y"), a.Addr())}
	b := join("b", ours.node("b"), a.Addr())
	sees(t, a, "a", "b")
	sees(t, b, "a", "b")
	for _, s := range strangers {
		if nodes := s.Nodes(); len(nodes) != 1 {
			t.Errorf("%s sees %q without a certificate of the authority", s.Self(), nodes)
		}
	}
}

func TestCertificateOfAnotherAuthority(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t), newAuthority(t)
	cert, key, err := theirs.Node("x")
	if err != nil {
		t.Fatal(err)
	}
	ours.write("x", cert, key)
	if _, err := ours.load("x"); err == nil || !strings.Contains(err.Error(), "cluster.tls.cert") {
		t.Errorf("error %v, want one that names the key", err)
	}
	ca, _ := os.ReadFile(filepath.Join(ours.dir, "ca.crt")) // an empty one fails as well
	for name, pair := range map[string][2][]byte{"the key of a node": {ca, key}, "a node": {cert, key}, "no key": {ca, nil}, "no certificate": {nil, key}} {
		if _, err := ReadAuthority(pair[0], pair[1]); err == nil {
			t.Errorf("%s: ReadAuthority() = nil, want an error", name)
		}
	}
}

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	for what, tc := range map[string]struct {
		c    Config
		want string // part of the error; empty: none
	}{
		"off":             {Config{Node: "a b"}, ""},
		"loopback":        {Config{Name: "c", Node: "a", Listen: "127.0.0.1:6222", Peers: []string{"127.0.0.1:6223"}}, ""},
		"all addresses":   {Config{Name: "c", Node: "a", Listen: ":6222"}, "cluster.tls"},
		"another machine": {Config{Name: "c", Node: "a", Listen: "127.0.0.1:6222", Peers: []string{"192.0.2.1:6222"}}, "cluster.tls"},
		"insecure":        {Config{Name: "c", Node: "a", Listen: ":6222", Insecure: true}, ""},
		"remote NATS":     {Config{Name: "c", Node: "a", NATSURL: "nats://192.0.2.1:4222"}, "cluster.tls"},
		"half of TLS":     {Config{Name: "c", Node: "a", Listen: ":6222", TLS: TLSConfig{Cert: "x"}}, "cluster.tls"},
		"missing files":   {Config{Name: "c", Node: "a", Listen: ":6222", TLS: TLSConfig{"x", "y", "z"}}, "cluster.tls.cert"},
		"bad name":        {Config{Name: "c d", Node: "a", Listen: "127.0.0.1:1"}, "cluster.name"},
		"bad node":        {Config{Name: "c", Node: "a.b", Listen: "127.0.0.1:1"}, "cluster.node"},
		"bad peer":        {Config{Name: "c", Node: "a", Listen: ":1", Insecure: true, Peers: []string{"elsewhere"}}, "cluster.peers"},
		"no address":      {Config{Name: "c", Node: "a", Insecure: true}, "cluster.listen"},
	} {
		err := tc.c.Check(true)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", what, err, tc.want)
		}
	}
	c := Config{Name: "c", Node: "a", Listen: "127.0.0.1:1"}
	if err := c.Check(false); err == nil || !strings.Contains(err.Error(), "storage.engine") {
		t.Errorf("a store of one machine: %v", err)
	}
}
