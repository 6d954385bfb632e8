package cacerts

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// Variables of a child process, which is this test program.
const (
	childURL = "CACERTS_TEST_URL" // that it calls
	childCA  = "CACERTS_TEST_CA"  // file with a root that it adds to the embedded ones; empty: none
)

func TestMain(m *testing.M) {
	if url := os.Getenv(childURL); url != "" {
		_, _ = fmt.Fprintln(os.Stdout, call(url, os.Getenv(childCA)))
		return
	}
	m.Run()
}

// call makes sure that there are roots, and says how many of the embedded ones the process
// trusts, and how a request ends.
func call(url, file string) string {
	roots := embedded
	if file != "" {
		roots = func() *x509.CertPool {
			pool := embedded()
			text, _ := os.ReadFile(file)
			pool.AppendCertsFromPEM(text)
			return pool
		}
	}
	use(roots)
	Ready() // there are roots now, so it changes nothing
	trusted := 0
	for root := range bundle.Roots() {
		c, err := x509.ParseCertificate(root.Certificate)
		if err == nil {
			_, err = c.Verify(x509.VerifyOptions{KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}, CurrentTime: c.NotBefore.AddDate(1, 0, 0)})
		}
		if err == nil {
			trusted++
		}
	}
	how := "answered"
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	if err == nil {
		var answer *http.Response
		if answer, err = http.DefaultClient.Do(r); err == nil {
			_ = answer.Body.Close()
		}
	}
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); unknown {
		how = "unknown authority"
	} else if err != nil {
		how = err.Error()
	}
	return fmt.Sprintf("%t %s", trusted > 50, how)
}

// TestRoots calls a server from a process whose system has no certificates, as in an image of
// the program alone, and from one whose system has its own.
func TestRoots(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		t.Skip("the store of this system cannot be hidden")
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	defer server.Close()
	dir := t.TempDir()
	ca, none := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "none")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		store, added string
		want         string // whether the embedded roots are trusted, and how the request ends
	}{
		"no store":                       {none, "", "true unknown authority"},
		"no store, the root is embedded": {none, ca, "true answered"},
		"own store":                      {ca, "", "false answered"},
	} {
		t.Run(name, func(t *testing.T) {
			child := exec.CommandContext(t.Context(), os.Args[0])
			child.Env = append(os.Environ(), "SSL_CERT_FILE="+tt.store, "SSL_CERT_DIR="+none, "GODEBUG=", childURL+"="+server.URL, childCA+"="+tt.added)
			out, err := child.CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != tt.want {
				t.Errorf("%q, %v, want %q", got, err, tt.want)
			}
		})
	}
}
