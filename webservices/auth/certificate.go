package auth

import (
	"bytes"
	"crypto"
	"crypto/hmac"
	"crypto/md5"
	"crypto/rsa"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"math"
	"net/netip"
	"strings"

	"github.com/respawnd/respawnd/webservices/soap"
)

// certificate holds the fields of a certificate. Numbers are those on the wire.
type certificate struct {
	length, version, partner, namespace, user, profile, expires uint32

	profileNick, uniqueNick, cdKeyHash string
	modulus, exponent                  []byte // without leading zeros
	serverData, signature              []byte // keyBytes each
}

// certificateLength is the length that certificates state. Clients do not
// interpret it.
const certificateLength = 303

// Longest texts that clients have room for, in bytes.
const (
	maxProfileNick = 30
	maxUniqueNick  = 20
	maxCDKeyHash   = 32
)

// number is a number of a certificate, with its name on the wire.
type number struct {
	name string
	at   *uint32
}

// numbers returns the numbers in their order.
func (c *certificate) numbers() []number {
	return []number{
		{"length", &c.length},
		{"version", &c.version},
		{"partnercode", &c.partner},
		{"namespaceid", &c.namespace},
		{"userid", &c.user},
		{"profileid", &c.profile},
		{"expiretime", &c.expires},
	}
}

// message appends the signed fields, with a part of the server data.
func (c *certificate) message(b, serverData []byte) []byte {
	for _, n := range c.numbers() {
		b = binary.LittleEndian.AppendUint32(b, *n.at)
	}
	b = append(append(append(b, c.profileNick...), c.uniqueNick...), c.cdKeyHash...)
	return append(append(append(b, c.modulus...), c.exponent...), serverData...)
}

// Parts of the server data: the version, the random number, the number of the
// password, the address from which the public exponent is a proof or zeros, zeros.
const (
	dataVersion = 1
	idSize      = 16
	passwordsAt = 1 + idSize
	addressAt   = passwordsAt + 4
	addressSize = 16
	macAt       = keyBytes - 32 // the rest is an HMAC
)

// id returns the random number in the server data.
func (c *certificate) id() []byte { return c.serverData[1 : 1+idSize] }

// passwords returns the number of the password in the server data. Certificates of
// earlier versions have 0, as accounts whose password was not set since then.
func (c *certificate) passwords() uint32 { return binary.BigEndian.Uint32(c.serverData[passwordsAt:]) }

// addressOf returns an address as the server data of a certificate has it, which other
// players see.
func (k *Key) addressOf(id []byte, a netip.Addr) []byte {
	b := a.As16()
	return derive(k.mac, "address", id, b[:])[:addressSize]
}

// isProof reports whether a text proves that a request from an address comes from the player:
// the proof of the private exponent, or from the address of the sign-in that of the public one.
func (c *certificate) isProof(k *Key, proof string, from netip.Addr) bool {
	is := func(exponent []byte) bool {
		return subtle.ConstantTimeCompare([]byte(strings.ToLower(proof)), []byte(ProofOf(exponent))) == 1
	}
	return is(k.peer().exponentOf(c.id(), c.exponent)) ||
		is(c.exponent) && hmac.Equal(c.serverData[addressAt:addressAt+addressSize], k.addressOf(c.id(), from))
}

// seal fills in the server data for a random number, the number of the password
// (storage.User.Passwords) and the result of addressOf, nil for none.
func (c *certificate) seal(k *Key, id []byte, passwords uint32, address []byte) {
	c.serverData = make([]byte, macAt, keyBytes)
	c.serverData[0] = dataVersion
	copy(c.serverData[1:], id)
	binary.BigEndian.PutUint32(c.serverData[passwordsAt:], passwords)
	copy(c.serverData[addressAt:], address)
	c.serverData = append(c.serverData, c.sum(k)...)
}

// sum returns the HMAC of all fields but the signature. The lengths of the texts,
// which the signed message does not separate, are part of it.
func (c *certificate) sum(k *Key) []byte {
	lengths := []byte{byte(len(c.profileNick)), byte(len(c.uniqueNick)), byte(len(c.cdKeyHash)), byte(len(c.modulus)), byte(len(c.exponent))}
	return derive(k.mac, "certificate", lengths, c.message(nil, c.serverData[:macAt]))
}

// isOurs reports whether the server data was made by us for the other fields.
func (c *certificate) isOurs(k *Key) bool {
	return c.serverData[0] == dataVersion && hmac.Equal(c.serverData[macAt:], c.sum(k))
}

// sign fills in the signature.
func (c *certificate) sign(k *Key, identity bool) (err error) {
	sum := md5.Sum(c.message(nil, c.serverData))
	if identity {
		c.signature = signatureBlock(sum)
		return nil
	}
	c.signature, err = rsa.SignPKCS1v15(nil, k.private, crypto.MD5, sum[:])
	return err
}

// isSigned reports whether the signature is valid.
func (c *certificate) isSigned(k *Key, identity bool) bool {
	sum := md5.Sum(c.message(nil, c.serverData))
	if identity {
		return bytes.Equal(c.signature, signatureBlock(sum))
	}
	return rsa.VerifyPKCS1v15(&k.private.PublicKey, crypto.MD5, sum[:], c.signature) == nil
}

// digestInfo says that an MD5 follows.
const digestInfo = "\x30\x20\x30\x0c\x06\x08\x2a\x86\x48\x86\xf7\x0d\x02\x05\x05\x00\x04\x10"

// signatureBlock returns the block that is signed for a hash.
func signatureBlock(sum [md5.Size]byte) []byte {
	b := bytes.Repeat([]byte{0xff}, keyBytes)
	b[0], b[1] = 0, 1
	end := append([]byte("\x00"+digestInfo), sum[:]...)
	copy(b[len(b)-len(end):], end)
	return b
}

// write writes the certificate in the order in which clients read it.
func (c *certificate) write(w *soap.Writer) {
	w.Open("certificate")
	for _, n := range c.numbers() {
		w.Int(n.name, int64(*n.at))
	}
	w.Text("profilenick", c.profileNick)
	w.Text("uniquenick", c.uniqueNick)
	w.Text("cdkeyhash", c.cdKeyHash)
	w.Text("peerkeymodulus", hexText(c.modulus))
	w.Text("peerkeyexponent", exponentText(c.exponent))
	w.Text("serverdata", hexText(c.serverData))
	w.Text("signature", hexText(c.signature))
	w.Close()
}

// exponentText returns a public exponent as clients write it: six hex digits.
func exponentText(b []byte) string {
	return strings.Repeat("00", len(exponentBytes)-len(b)) + hexText(b)
}

// Public exponents of peer keys in signed messages, see the package.
var (
	exponentBytes = []byte{1, 0, 1}
	exponentOne   = []byte{1}
)

// hexText returns bytes as the games' replies have them.
func hexText(b []byte) string { return strings.ToUpper(hex.EncodeToString(b)) }

// readCertificate returns the certificate in an element of a request. ok is false if
// a field is missing or is not one that we could have written.
func readCertificate(e *soap.Element) (c certificate, ok bool) {
	for _, n := range c.numbers() {
		v, isNumber := e.Int(n.name)
		if !isNumber || v < math.MinInt32 || v > math.MaxUint32 {
			return c, false
		}
		*n.at = uint32(v)
	}
	c.profileNick, c.uniqueNick, c.cdKeyHash = e.Text("profilenick"), e.Text("uniquenick"), e.Text("cdkeyhash")
	if len(c.profileNick) > maxProfileNick || len(c.uniqueNick) > maxUniqueNick || len(c.cdKeyHash) > maxCDKeyHash {
		return c, false
	}
	for _, f := range []struct {
		name string
		to   *[]byte
		size int // 0: up to keyBytes
	}{
		{"peerkeymodulus", &c.modulus, 0},
		{"peerkeyexponent", &c.exponent, 0},
		{"serverdata", &c.serverData, keyBytes},
		{"signature", &c.signature, keyBytes},
	} {
		b, err := hex.DecodeString(e.Text(f.name))
		if err != nil || len(b) > keyBytes || f.size != 0 && len(b) != f.size {
			return c, false
		}
		if f.size == 0 {
			b = bytes.TrimLeft(b, "\x00")
		}
		*f.to = b
	}
	return c, true
}
