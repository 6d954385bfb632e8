// Package cacerts has root certificates for systems without any, such as a container image of
// the program alone: those of Mozilla at the time of the build. A system's own store is used
// where there is one, whatever it holds.
//
// It is a package that clients call, and not an import of golang.org/x/crypto/x509roots/fallback:
// that reads the store of the system and all certificates at each start of the program.
package cacerts

import (
	"crypto/x509"
	"sync"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// Ready makes sure that certificates of servers can be checked. Clients call it before their
// first connection with TLS. Calls after the first do nothing.
func Ready() { ready() }

var ready = sync.OnceFunc(func() { use(embedded) })

// use makes the roots those of this process if the system has none. It must be called once.
func use(roots func() *x509.CertPool) {
	if system, err := x509.SystemCertPool(); err == nil && !system.Equal(x509.NewCertPool()) {
		return
	}
	x509.SetFallbackRoots(roots())
}

// embedded returns the certificates of the program.
func embedded() *x509.CertPool {
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		c, err := x509.ParseCertificate(root.Certificate)
		switch {
		case err != nil: // the others count
		case root.Constraint == nil:
			pool.AddCert(c)
		default:
			pool.AddCertWithConstraint(c, root.Constraint)
		}
	}
	return pool
}
