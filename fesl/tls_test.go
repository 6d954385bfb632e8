package fesl

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// certificate writes a certificate and its key, and returns the paths.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"fesl.example"}}
	signed, err := x509.CreateCertificate(rand.Reader, form, form, &private.PublicKey, private)
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

// TestTLS has a client speak TLS and another one plain text, on one port.
func TestTLS(t *testing.T) {
	c := defaults()
	c.TLSCert, c.TLSKey = certificate(t)
	secure, err := c.openTLS()
	if err != nil {
		t.Fatal(err)
	}
	f := start(t, func(o *Options) { o.TLS = secure })
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
	old, err := f.dial()
	if err != nil {
		t.Fatal(err)
	}
	if err := tls.Client(old, &tls.Config{RootCAs: trusted, ServerName: "fesl.example", MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}).HandshakeContext(t.Context()); err == nil {
		t.Error("an old version of TLS was accepted")
	}
}

func TestCheckTLS(t *testing.T) {
	cert, key := certificate(t)
	for name, tc := range map[string]struct {
		cert, key string
		ok        bool
	}{
		"none": {"", "", true}, "both": {cert, key, true}, "no key": {cert, "", false}, "no certificate": {"", key, false}, "exchanged": {key, cert, false},
	} {
		c := defaults()
		c.TLSCert, c.TLSKey = tc.cert, tc.key
		if err := c.Describe().Check("", 0); (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
