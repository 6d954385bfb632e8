package natsbus

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// authority makes certificates for a test.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.make("ca", nil)
	return a
}

// make writes NAME.crt and NAME.key; without a parent they are those of an authority.
func (a *authority) make(name string, parent *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true, IsCA: parent == nil,
	}
	signer := a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(name+".crt", "CERTIFICATE", der)
	a.write(name+".key", "PRIVATE KEY", secret)
	made, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return made, key
}

func (a *authority) write(name, kind string, der []byte) {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(a.dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// node returns the settings of a node with a certificate.
func (a *authority) node(name string) *tls.Config {
	a.t.Helper()
	a.make(name, a.cert)
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
	theirs.node("x")
	theirs.write("ca.crt", "CERTIFICATE", ours.cert.Raw)
	if _, err := theirs.load("x"); err == nil || !strings.Contains(err.Error(), "cluster.tls.cert") {
		t.Errorf("error %v, want one that names the key", err)
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
