package natsbus

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"time"
)

// certificateLife is how long the certificates of a cluster are valid: longer than its machines.
const certificateLife = 10 * 365 * 24 * time.Hour

// Authority signs for the nodes of one cluster, see TLS.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// errAuthority reports files that are not those of an Authority.
var errAuthority = errors.New("not the certificate and key of a cluster")

// NewAuthority makes an Authority, with a certificate and a key in PEM.
func NewAuthority() (a *Authority, cert, key []byte, err error) {
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, nil, err
	}
	c := certificate("respawnd cluster")
	c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
	if cert, key, err = sign(c, c, own, own); err != nil {
		return nil, nil, nil, err
	}
	a, err = ReadAuthority(cert, key)
	return a, cert, key, err
}

// ReadAuthority returns the Authority of a certificate and a key in PEM.
func ReadAuthority(cert, key []byte) (*Authority, error) {
	c, k := decodePEM(cert, "CERTIFICATE"), decodePEM(key, "PRIVATE KEY")
	a := new(Authority)
	var err error
	if a.cert, err = x509.ParseCertificate(c); err != nil {
		return nil, errors.Join(errAuthority, err)
	}
	private, err := x509.ParsePKCS8PrivateKey(k)
	if err != nil {
		return nil, errors.Join(errAuthority, err)
	}
	own, ok := private.(*ecdsa.PrivateKey)
	if !ok || !a.cert.IsCA || !own.PublicKey.Equal(a.cert.PublicKey) {
		return nil, errAuthority
	}
	a.key = own
	return a, nil
}

func decodePEM(text []byte, kind string) []byte {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != kind {
		return nil
	}
	return block.Bytes
}

// Node makes the certificate and the key of a node, in PEM.
func (a *Authority) Node(name string) (cert, key []byte, err error) {
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	return sign(certificate(name), a.cert, own, a.key)
}

// certificate returns the certificate for a name, not yet signed.
func certificate(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // never fails
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.Add(certificateLife), // clocks differ
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

// sign signs a certificate for a key with those of a parent, and returns it and the key in PEM.
func sign(c, parent *x509.Certificate, own *ecdsa.PrivateKey, with crypto.Signer) (cert, key []byte, err error) {
	signed, err := x509.CreateCertificate(rand.Reader, c, parent, own.Public(), with)
	if err != nil {
		return nil, nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), nil
}
