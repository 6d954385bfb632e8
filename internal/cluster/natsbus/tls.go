package natsbus

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// TLS reads a certificate with its key and the CA of the cluster. Nodes accept each
// other if their certificates are of this CA, whatever names they hold: nodes are
// reached under addresses that they learn from each other. The CA must therefore sign
// for nodes of the cluster alone.
func TLS(certFile, keyFile, caFile string) (*tls.Config, error) {
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("cluster.tls.cert: %w", err)
	}
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, fmt.Errorf("cluster.tls.ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("cluster.tls.ca: no certificate in %s", caFile)
	}
	verify := func(s tls.ConnectionState) error { return verifyChain(s.PeerCertificates, pool) }
	if err := verifyChain(leafOf(cert), pool); err != nil {
		return nil, fmt.Errorf("cluster.tls.cert: not of the CA in cluster.tls.ca: %w", err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{cert}, RootCAs: pool, ClientCAs: pool, MinVersion: tls.VersionTLS13,
		ClientAuth: tls.RequireAnyClientCert,
		// VerifyConnection checks both sides; the standard check would want host names.
		InsecureSkipVerify: true, //nolint:gosec // see VerifyConnection
		VerifyConnection:   verify,
	}, nil
}

func leafOf(cert tls.Certificate) (chain []*x509.Certificate) {
	for _, der := range cert.Certificate {
		if c, err := x509.ParseCertificate(der); err == nil {
			chain = append(chain, c)
		}
	}
	return chain
}

// verifyChain checks that a chain of certificates leads to one of the CA.
func verifyChain(chain []*x509.Certificate, ca *x509.CertPool) error {
	if len(chain) == 0 {
		return errors.New("no certificate")
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: ca, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	return err
}
