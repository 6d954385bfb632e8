package fesl

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/ssl3"
)

// certificate writes a certificate and its key, and returns the paths.
func certificate(t *testing.T, private crypto.Signer) (cert, key string) {
	t.Helper()
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"fesl.example"}}
	signed, err := x509.CreateCertificate(rand.Reader, form, form, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: signed}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func ecdsaKey(t *testing.T) crypto.Signer {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return private
}

func rsaKey(t *testing.T) crypto.Signer {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return private
}

// TestSSL3 has a client speak SSL 3.0, another one TLS and a third plain text, on one port. Without
// fesl.ssl3 the first is refused.
func TestSSL3(t *testing.T) {
	c := defaults()
	c.TLSCert, c.TLSKey = certificate(t, rsaKey(t))
	c.SSL3 = true
	secure, old, err := c.openTLS()
	if err != nil {
		t.Fatal(err)
	}
	f := start(t, func(o *Options) { o.TLS, o.SSL3 = secure, old })
	f.register()
	speak := func(f *fixture, wrap func(net.Conn) net.Conn) error {
		conn, err := f.dial()
		if err != nil {
			t.Fatal(err)
		}
		p := peer{NewClient(wrap(conn)), t}
		defer func() { _ = p.Close() }()
		if _, err := p.Hello(t.Context(), testGame); err != nil {
			return err
		}
		_, err = p.Play(t.Context(), testEmail, testPassword, testPersona)
		return err
	}
	inSSL3 := func(c net.Conn) net.Conn {
		old, err := ssl3.Client(c, rand.Reader, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return old
	}
	for name, wrap := range map[string]func(net.Conn) net.Conn{
		"SSL 3.0": inSSL3, "plain text": func(c net.Conn) net.Conn { return c },
		"TLS": func(c net.Conn) net.Conn { return tls.Client(c, &tls.Config{InsecureSkipVerify: true}) },
	} {
		if err := speak(f, wrap); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	without := start(t, func(o *Options) { o.TLS = secure })
	without.register()
	if err := speak(without, inSSL3); err == nil {
		t.Error("SSL 3.0 was accepted although it is off")
	}
}

// TestSlowHandshake times the end of clients that begin a handshake and do not complete it.
func TestSlowHandshake(t *testing.T) {
	c := defaults()
	c.TLSCert, c.TLSKey = certificate(t, rsaKey(t))
	c.SSL3 = true
	secure, old, err := c.openTLS()
	if err != nil {
		t.Fatal(err)
	}
	for name, begin := range map[string][]byte{
		"one byte": {handshake}, "TLS": {handshake, 3, 1, 1, 0, 1, 0, 0, 0xfc, 3, 3, 0}, "SSL 3.0": {handshake, 3, 0, 1, 0, 1, 0, 0, 0xfc, 3, 0, 0},
		"SSL 2": {ssl3.OldHello, 28, 1, 3, 0, 0, 3, 0, 0, 0, 16, 0, 0, 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reg := prometheus.NewRegistry()
				f := startPipe(t, func(o *Options) {
					o.TLS, o.SSL3 = secure, old
					o.Metrics = netserve.NewMetrics(reg, "fesl", DropReasons()...)
				})
				p := f.connect()
				began := time.Now()
				p.send(begin)
				_, _ = io.Copy(io.Discard, p.conn)
				if got := time.Since(began); got < tlsTime || got > tlsTime+time.Second {
					t.Errorf("ended after %v, want %v", got, tlsTime)
				}
				f.stop()
				if n := metrictest.Dropped(t, reg, endedTLS.Error()); n != 1 {
					t.Errorf("%d counted, want 1", n)
				}
			})
		})
	}
}

// TestTLS has a client speak TLS and another one plain text, on one port. A recording has the plain
// text of both.
func TestTLS(t *testing.T) {
	c := defaults()
	c.TLSCert, c.TLSKey = certificate(t, ecdsaKey(t))
	secure, _, err := c.openTLS()
	if err != nil {
		t.Fatal(err)
	}
	var tap netserve.Tap
	var heard, said atomic.Int32
	f := start(t, func(o *Options) {
		o.TLS = secure
		o.Metrics = netserve.NewMetrics(nil, name, DropReasons()...).Tapped(&tap)
	})
	tap.Begin(&netserve.Watch{Addr: netip.MustParseAddr("127.0.0.1"), Take: func(p netserve.Part) {
		if bytes.Contains(p.Data, []byte("TXN=GameSpyPreAuth")) {
			map[netserve.Act]*atomic.Int32{netserve.Heard: &heard, netserve.Said: &said}[p.Act].Add(1)
		}
	}})
	f.register()
	conn, err := f.dial()
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(secure.Certificates[0].Leaf)
	p := peer{NewClient(tls.Client(conn, &tls.Config{RootCAs: trusted, ServerName: "fesl.example", MinVersion: tls.VersionTLS12})), t}
	defer func() { _ = p.Close() }()
	if _, err := p.Hello(t.Context(), testGame); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Play(t.Context(), testEmail, testPassword, testPersona); err != nil {
		t.Errorf("over TLS: %v", err)
	}
	if _, err := f.greeted(testGame).Play(t.Context(), testEmail, testPassword, testPersona); err != nil {
		t.Errorf("in plain text: %v", err)
	}
	if h, s := heard.Load(), said.Load(); h != 2 || s != 2 {
		t.Errorf("recorded: %d requests and %d answers, want 2 of each", h, s)
	}
	old, err := f.dial()
	if err != nil {
		t.Fatal(err)
	}
	if err := tls.Client(old, &tls.Config{RootCAs: trusted, ServerName: "fesl.example", MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}).HandshakeContext(t.Context()); err == nil {
		t.Error("an old version of TLS was accepted")
	}
}

func TestCheckTLS(t *testing.T) {
	cert, key := certificate(t, ecdsaKey(t))
	rsaCert, rsaFile := certificate(t, rsaKey(t))
	for name, tc := range map[string]struct {
		cert, key string
		ssl3, ok  bool
	}{
		"none": {"", "", false, true}, "both": {cert, key, false, true}, "no key": {cert, "", false, false}, "no certificate": {"", key, false, false}, "exchanged": {key, cert, false, false},
		"SSL 3.0": {rsaCert, rsaFile, true, true}, "SSL 3.0 without RSA": {cert, key, true, false}, "SSL 3.0 alone": {"", "", true, false},
	} {
		c := defaults()
		c.TLSCert, c.TLSKey, c.SSL3 = tc.cert, tc.key, tc.ssl3
		if err := c.Describe().Check("", 0); (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOldHello sends a hello in the form of SSL 2: it begins a handshake of SSL 3.0 if that is on, and is refused
// with an alert if it is off.
func TestOldHello(t *testing.T) {
	c := defaults()
	c.TLSCert, c.TLSKey = certificate(t, rsaKey(t))
	c.SSL3 = true
	secure, old, err := c.openTLS()
	if err != nil {
		t.Fatal(err)
	}
	hello := append([]byte{ssl3.OldHello, 28, 1, 3, 0, 0, 3, 0, 0, 0, 16, 0, 0, 4}, bytes.Repeat([]byte{7}, 16)...)
	for state, tc := range map[string]struct {
		change func(*Options)
		begin  []byte
		drops  int
	}{
		"on":             {func(o *Options) { o.TLS, o.SSL3 = secure, old }, []byte{22, 3, 0}, 0},
		"off":            {func(o *Options) { o.TLS = secure }, []byte{21, 3, 0, 0, 2, 2, 40}, 1},
		"no certificate": {nil, []byte{21, 3, 0, 0, 2, 2, 40}, 1},
	} {
		t.Run(state, func(t *testing.T) {
			reg := prometheus.NewRegistry()
			f := start(t, func(o *Options) {
				o.Metrics = netserve.NewMetrics(reg, name, DropReasons()...)
				if tc.change != nil {
					tc.change(o)
				}
			})
			conn, err := f.dial()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Write(hello); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, len(tc.begin))
			if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, tc.begin) {
				t.Errorf("answered %x, %v; want %x", got, err, tc.begin)
			}
			_ = conn.Close()
			f.stop()
			if n := metrictest.Dropped(t, reg, endedOldHello.Error()); n != tc.drops {
				t.Errorf("%d counted, want %d", n, tc.drops)
			}
		})
	}
}
