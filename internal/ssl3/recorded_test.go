package ssl3

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"math/big"
	"os"
	"testing"
	"time"
)

// recorded is a handshake of a client of the original SDK, with all secrets.
type recorded struct {
	t      testing.TB
	fields map[string]string
}

func loadRecorded(t testing.TB) recorded {
	t.Helper()
	text, err := os.ReadFile("testdata/handshake.json")
	if err != nil {
		t.Fatal(err)
	}
	r := recorded{t: t}
	if err := json.Unmarshal(text, &r.fields); err != nil {
		t.Fatal(err)
	}
	return r
}

// bytes returns a field of the recording.
func (r recorded) bytes(name string) []byte {
	r.t.Helper()
	b, err := hex.DecodeString(r.fields[name])
	if err != nil || len(b) == 0 {
		r.t.Fatalf("field %q of the recording: %v", name, err)
	}
	return b
}

// identity returns the key and the certificate of the recorded server.
func (r recorded) identity() *Identity {
	r.t.Helper()
	der, ok := parseCertificate(r.bytes("certificate")[messageHeader:])
	if !ok {
		r.t.Fatal("the recorded certificate cannot be read")
	}
	key := &rsa.PrivateKey{
		PublicKey: rsa.PublicKey{N: new(big.Int).SetBytes(r.bytes("server_key_n")), E: 65537},
		D:         new(big.Int).SetBytes(r.bytes("server_key_d")),
	}
	return &Identity{key: key, certificate: der}
}

// random returns the random bytes of the recorded server, and those of the replacement
// of a wrong premaster secret.
func (r recorded) random() *bytes.Reader {
	h, ok := parseServerHello(r.bytes("server_hello")[messageHeader:])
	if !ok {
		r.t.Fatal("the recorded hello cannot be read")
	}
	return bytes.NewReader(append(append(h.random[:], h.session...), make([]byte, premasterLen)...))
}

// secrets returns the recorded key material.
func (r recorded) secrets() secrets {
	return secrets{master: r.bytes("master"), block: r.bytes("key_block_64")}
}

// clientRecords returns the records of the recorded client.
func (r recorded) clientRecords() [][]byte {
	var out half
	records := [][]byte{
		out.seal(nil, typeHandshake, r.bytes("client_hello")),
		out.seal(nil, typeHandshake, r.bytes("client_key_exchange")),
		out.seal(nil, typeChangeCipherSpec, []byte{1}),
	}
	out.protect(r.secrets().client())
	return append(records, out.seal(nil, typeHandshake, r.bytes("client_finished_clear")))
}

// parse returns a record as it is read from the wire.
func parse(t testing.TB, wire []byte) record {
	t.Helper()
	reader := recordReader{r: bytes.NewReader(bytes.Clone(wire))}
	rec, err := reader.next(maxData + macLen)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// TestRecordedHandshake checks every byte that the server sends.
func TestRecordedHandshake(t *testing.T) {
	rec := loadRecorded(t)
	s := newServer(rec.identity(), rec.random(), nil)
	var clear, own half
	own.protect(rec.secrets().server())
	flights := [][]byte{
		clear.seal(nil, typeHandshake, bytes.Join([][]byte{
			rec.bytes("server_hello"), rec.bytes("certificate"), rec.bytes("server_hello_done"),
		}, nil)),
		nil, nil,
		own.seal(clear.seal(nil, typeChangeCipherSpec, []byte{1}), typeHandshake, rec.bytes("server_finished_clear")),
	}
	for i, wire := range rec.clientRecords() {
		if _, err := s.handle(parse(t, wire)); err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
		if !bytes.Equal(s.flight, flights[i]) {
			t.Fatalf("after record %d the server sends\n%x, want\n%x", i, s.flight, flights[i])
		}
		s.flight = nil
		if i == 1 && (!bytes.Equal(s.secrets.master, rec.bytes("master")) || !bytes.Equal(s.secrets.block, rec.bytes("key_block_64"))) {
			t.Fatal("other secrets than those recorded")
		}
	}
	if !s.open {
		t.Error("the handshake is not complete")
	}
}

func TestRecordedHello(t *testing.T) {
	rec := loadRecorded(t)
	wire := rec.bytes("client_hello_record")
	r := parse(t, wire)
	h, ok := parseClientHello(r.payload[messageHeader:])
	if !ok {
		t.Fatal("the hello cannot be read")
	}
	var out half
	if again := out.seal(nil, typeHandshake, appendMessage(nil, kindClientHello, h.appendClient(nil))); !bytes.Equal(again, wire) {
		t.Errorf("written again: %x, want %x", again, wire)
	}
}

// TestRecordedCertificate makes the recorded certificate again.
func TestRecordedCertificate(t *testing.T) {
	id := loadRecorded(t).identity()
	cert, err := x509.ParseCertificate(id.certificate)
	if err != nil {
		t.Fatal(err)
	}
	got, err := certificate(id.key, cert.Subject.CommonName, cert.SerialNumber.Bytes(), cert.NotBefore, cert.NotAfter)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, id.certificate) {
		t.Errorf("certificate\n%x, want\n%x", got, id.certificate)
	}
}

func TestNewIdentity(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	id := testIdentity(t)
	cert, err := x509.ParseCertificate(id.certificate)
	if err != nil {
		t.Fatal(err)
	}
	if now.Before(cert.NotBefore) || now.After(cert.NotAfter) || cert.Subject.CommonName != "*.auth.pubsvs.gamespy.com" {
		t.Errorf("certificate of %q from %v to %v", cert.Subject.CommonName, cert.NotBefore, cert.NotAfter)
	}
	if got := cert.PublicKey.(*rsa.PublicKey).Size(); got != 128 {
		t.Errorf("a key of %d bytes, want 128", got)
	}
	if cert.SignatureAlgorithm != x509.SHA1WithRSA || !cert.IsCA {
		t.Errorf("%v, CA %v", cert.SignatureAlgorithm, cert.IsCA)
	}
}
