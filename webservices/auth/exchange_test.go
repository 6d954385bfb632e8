package auth

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/big"
	"net/netip"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/webservices/soap"
)

// gamePlayer is a player as the client library of 2012 keeps it: the certificate, and the
// private exponent that the library uses.
type gamePlayer struct {
	element     *soap.Element
	certificate certificate
	private     []byte
}

// signIn signs in with a method of the client library of 2012. After LoginProfileWithGameId the
// library overwrites the private exponent with the public one.
func (f *fixture) signIn(method string) gamePlayer {
	f.t.Helper()
	who := "<email>a@example.com</email><profilenick>MyNick</profilenick><uniquenick>uniqueguy</uniquenick>"
	e := f.call(method, "<gameid>0</gameid>"+header+who+f.sealed("secretpw"))
	p := gamePlayer{element: e.Child("certificate")}
	var ok bool
	if p.certificate, ok = readCertificate(p.element); !ok {
		f.t.Fatalf("%s: no certificate in %v", method, e)
	}
	if p.private = p.certificate.exponent; method != "LoginProfileWithGameId" {
		var err error
		if p.private, err = hex.DecodeString(e.Text("peerkeyprivate")); err != nil {
			f.t.Fatal(err)
		}
	}
	return p
}

// show returns the certificate as players send it to each other: numbers in big-endian, texts
// with a zero, and everything else behind its length.
func (p gamePlayer) show() (b []byte) {
	c := &p.certificate
	for _, n := range c.numbers() {
		b = binary.BigEndian.AppendUint32(b, *n.at)
	}
	b = append(append(append(b, c.profileNick...), 0), c.uniqueNick...)
	b = append(append(append(b, 0), c.cdKeyHash...), 0)
	for _, part := range [][]byte{c.modulus, c.exponent, c.serverData, c.signature} {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(part))), part...)
	}
	return b
}

// meet reads a certificate that another player has shown.
func meet(t *testing.T, b []byte) (c certificate) {
	t.Helper()
	for _, n := range c.numbers() {
		*n.at, b = binary.BigEndian.Uint32(b), b[4:]
	}
	for _, text := range []*string{&c.profileNick, &c.uniqueNick, &c.cdKeyHash} {
		var ok bool
		if *text, _, ok = strings.Cut(string(b), "\x00"); !ok {
			t.Fatal("a text has no end")
		}
		b = b[len(*text)+1:]
	}
	for _, part := range []*[]byte{&c.modulus, &c.exponent, &c.serverData, &c.signature} {
		n := binary.BigEndian.Uint32(b)
		*part, b = b[4:4+n], b[4+n:]
	}
	if len(b) > 0 {
		t.Fatalf("%d bytes behind the certificate", len(b))
	}
	return c
}

// power returns base to an exponent as both keys use it.
func power(base, exponent, modulus []byte) []byte {
	n := new(big.Int).Exp(new(big.Int).SetBytes(base), new(big.Int).SetBytes(exponent), new(big.Int).SetBytes(modulus))
	return n.FillBytes(make([]byte, keyBytes))
}

// TestExchangeBetweenPlayers shows the certificates of the client library of 2012 to another
// player, who checks them and sends a key for their connection.
func TestExchangeBetweenPlayers(t *testing.T) {
	for _, method := range []string{"LoginProfile", "LoginUniqueNick", "LoginUniqueNickWithGameId", "LoginProfileWithGameId"} {
		t.Run(method, func(t *testing.T) {
			f := build(t, nil)
			p := f.signIn(method)
			shown := p.show()
			if len(shown) > 512 {
				t.Errorf("the certificate has %d bytes, clients have room for 512", len(shown))
			}
			c := meet(t, shown)
			if !c.isSigned(f.backend.opt.Key, false) {
				t.Error("the other player finds the certificate invalid")
			}
			key := append(bytes.Repeat([]byte{0x5a}, 31), 7)
			block := append(append([]byte{0, 2}, bytes.Repeat([]byte{0xff}, keyBytes-3-len(key))...), 0)
			block = append(block, key...)
			got, ok := unpad(power(power(block, c.exponent, c.modulus), p.private, c.modulus))
			if !ok || !bytes.Equal(got, key) {
				t.Errorf("the key arrives as %x, %t, want %x", got, ok, key)
			}
			if _, err := f.backend.Verify(t.Context(), p.element, ProofOf(p.private), client.Addr()); err != nil {
				t.Errorf("the proof of the client: %v", err)
			}
		})
	}
}

// TestPublicProof accepts the public exponent as a proof from the address of the sign-in alone,
// and only from the library that has no other.
func TestPublicProof(t *testing.T) {
	f := build(t, nil)
	elsewhere := netip.MustParseAddr("192.0.2.77")
	p := f.signIn("LoginProfileWithGameId")
	if _, err := f.backend.Verify(t.Context(), p.element, ProofOf(p.private), elsewhere); !errors.Is(err, ErrProof) {
		t.Errorf("from another address: %v, want ErrProof", err)
	}
	mapped := netip.AddrFrom16(client.Addr().As16())
	if _, err := f.backend.Verify(t.Context(), p.element, ProofOf(p.private), mapped); err != nil {
		t.Errorf("from the same address in its longer form: %v", err)
	}
	e := f.call("LoginProfileWithGameId", header+"<email>a@example.com</email><profilenick>MyNick</profilenick>"+f.sealed("secretpw"))
	private, err := hex.DecodeString(e.Text("peerkeyprivate"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.backend.Verify(t.Context(), e.Child("certificate"), ProofOf(private), elsewhere); err != nil {
		t.Errorf("the private exponent from another address: %v", err)
	}
	if bytes.Equal(private, []byte{1}) {
		t.Error("the private exponent is no secret")
	}
	other := f.signIn("LoginProfile")
	if _, err := f.backend.Verify(t.Context(), other.element, ProofOf(other.certificate.exponent), client.Addr()); !errors.Is(err, ErrProof) {
		t.Errorf("the public exponent of another library: %v, want ErrProof", err)
	}
	sum := md5.Sum([]byte{1})
	if proof := hex.EncodeToString(sum[:]); proof != ProofOf(p.private) {
		t.Errorf("the public exponent has the proof %s, want %s", ProofOf(p.private), proof)
	}
}
