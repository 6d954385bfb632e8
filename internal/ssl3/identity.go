package ssl3

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"io"
	"math/big"
	"time"
)

// keyBits is the length of the key: games encrypt the premaster secret into exactly 128
// bytes.
const keyBits = 1024

// Validity of a certificate around the time at which it is made. Games do not check it.
const (
	validBefore = 24 * time.Hour
	validAfter  = 10 * 365 * 24 * time.Hour
)

// Identity is the key of a server and its certificate.
type Identity struct {
	key         *rsa.PrivateKey
	certificate []byte // DER
}

// NewIdentity makes a key and a certificate that the key itself signs. Games accept any
// certificate, so both may be made at each start.
func NewIdentity(rand io.Reader, name string, now time.Time) (*Identity, error) {
	key, err := rsa.GenerateKey(rand, keyBits)
	if err != nil {
		return nil, err
	}
	serial := make([]byte, 20)
	if _, err := io.ReadFull(rand, serial); err != nil {
		return nil, err
	}
	serial[0] = serial[0]&0x7f | 0x40 // positive, 20 bytes
	der, err := certificate(key, name, serial, now.Add(-validBefore), now.Add(validAfter))
	if err != nil {
		return nil, err
	}
	return &Identity{key: key, certificate: der}, nil
}

// ErrIdentity reports a certificate that SSL 3.0 cannot use.
var ErrIdentity = errors.New("SSL 3.0 needs a certificate with an RSA key")

// IdentityOf returns the Identity with the key and the first certificate of a pair. The error is
// ErrIdentity.
func IdentityOf(pair tls.Certificate) (*Identity, error) {
	key, ok := pair.PrivateKey.(*rsa.PrivateKey)
	if !ok || len(pair.Certificate) == 0 {
		return nil, ErrIdentity
	}
	return &Identity{key: key, certificate: pair.Certificate[0]}, nil
}

// Object identifiers.
var (
	oidRSA              = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}
	oidSHA1WithRSA      = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 5}
	oidCommonName       = asn1.ObjectIdentifier{2, 5, 4, 3}
	oidSubjectKeyID     = asn1.ObjectIdentifier{2, 5, 29, 14}
	oidAuthorityKeyID   = asn1.ObjectIdentifier{2, 5, 29, 35}
	oidBasicConstraints = asn1.ObjectIdentifier{2, 5, 29, 19}
)

// The parts of a certificate of X.509 version 3. Package crypto/x509 makes none that is
// signed with SHA-1, and games know nothing later.
type (
	validity struct{ NotBefore, NotAfter time.Time }

	publicKey struct {
		Algorithm pkix.AlgorithmIdentifier
		Key       asn1.BitString
	}

	signedPart struct {
		Version    int `asn1:"explicit,tag:0"`
		Serial     *big.Int
		Algorithm  pkix.AlgorithmIdentifier
		Issuer     pkix.RDNSequence
		Validity   validity
		Subject    pkix.RDNSequence
		Key        publicKey
		Extensions []pkix.Extension `asn1:"explicit,tag:3"`
	}

	signed struct {
		Part      asn1.RawValue
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}

	rsaKey struct {
		N *big.Int
		E int
	}
)

// certificate returns a certificate in DER that key signs for itself. The times are in
// the years 1950 to 2049.
func certificate(key *rsa.PrivateKey, name string, serial []byte, from, to time.Time) ([]byte, error) {
	public, err := asn1.Marshal(rsaKey{key.N, key.E})
	if err != nil {
		return nil, err
	}
	extensions, err := certificateExtensions(public)
	if err != nil {
		return nil, err
	}
	var printable asn1.RawValue // games of that time know UTF8String
	if printable.FullBytes, err = asn1.MarshalWithParams(name, "utf8"); err != nil {
		return nil, fmt.Errorf("name of the certificate: %w", err)
	}
	who := pkix.RDNSequence{{{Type: oidCommonName, Value: printable}}}
	algorithm := pkix.AlgorithmIdentifier{Algorithm: oidSHA1WithRSA, Parameters: asn1.NullRawValue}
	part, err := asn1.Marshal(signedPart{
		Version: 2, Serial: new(big.Int).SetBytes(serial), Algorithm: algorithm, Issuer: who, Subject: who,
		Validity: validity{from.UTC().Truncate(time.Second), to.UTC().Truncate(time.Second)},
		Key: publicKey{
			Algorithm: pkix.AlgorithmIdentifier{Algorithm: oidRSA, Parameters: asn1.NullRawValue},
			Key:       asn1.BitString{Bytes: public, BitLength: 8 * len(public)},
		},
		Extensions: extensions,
	})
	if err != nil {
		return nil, err
	}
	digest := sha1.Sum(part)
	signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA1, digest[:])
	if err != nil {
		return nil, err
	}
	return asn1.Marshal(signed{
		Part: asn1.RawValue{FullBytes: part}, Algorithm: algorithm,
		Signature: asn1.BitString{Bytes: signature, BitLength: 8 * len(signature)},
	})
}

// certificateExtensions returns those of a certificate that signs itself.
func certificateExtensions(public []byte) ([]pkix.Extension, error) {
	id := sha1.Sum(public)
	var out []pkix.Extension
	for _, e := range []struct {
		oid      asn1.ObjectIdentifier
		critical bool
		value    any
	}{
		{oidSubjectKeyID, false, id[:]},
		{oidAuthorityKeyID, false, struct {
			ID []byte `asn1:"tag:0"`
		}{id[:]}},
		{oidBasicConstraints, true, struct{ CA bool }{true}},
	} {
		der, err := asn1.Marshal(e.value)
		if err != nil {
			return nil, err
		}
		out = append(out, pkix.Extension{Id: e.oid, Critical: e.critical, Value: bytes.Clone(der)})
	}
	return out, nil
}
