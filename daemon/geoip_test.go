package daemon

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The control bytes of MaxMind's data format: the type in the upper three bits,
// the size in the lower five.
func mmString(s string) string { return string([]byte{byte(2<<5 | len(s))}) + s }

func mmMap(pairs ...string) string {
	return string([]byte{byte(7<<5 | len(pairs)/2)}) + strings.Join(pairs, "")
}

func mmUint16(n byte) string { return string([]byte{5<<5 | 1, n}) }
func mmUint32(n byte) string { return string([]byte{6<<5 | 1, n}) }
func mmUint64(n byte) string { return string([]byte{1, 9 - 7, n}) }

// writeCountries writes a database in which the lower half of all IPv4
// addresses is in Germany and the upper half in the United States.
func writeCountries(t *testing.T) string {
	t.Helper()
	record := func(country, continent string) string {
		return mmMap(
			mmString("country"), mmMap(mmString("iso_code"), mmString(country)),
			mmString("continent"), mmMap(mmString("code"), mmString(continent)),
		)
	}
	low, high := record("DE", "EU"), record("US", "NA")
	const nodes, gap = 1, 16
	pointer := func(at int) string { return string([]byte{0, 0, byte(nodes + gap + at)}) }
	tree := pointer(0) + pointer(len(low))
	meta := mmMap(
		mmString("node_count"), mmUint32(nodes),
		mmString("record_size"), mmUint16(24),
		mmString("ip_version"), mmUint16(4),
		mmString("database_type"), mmString("Test"),
		mmString("binary_format_major_version"), mmUint16(2),
		mmString("binary_format_minor_version"), mmUint16(0),
		mmString("build_epoch"), mmUint64(1),
	)
	db := tree + strings.Repeat("\x00", gap) + low + high + "\xAB\xCD\xEFMaxMind.com" + meta
	path := filepath.Join(t.TempDir(), "countries.mmdb")
	if err := os.WriteFile(path, []byte(db), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLocate(t *testing.T) {
	geo, err := openGeoIP(writeCountries(t))
	if err != nil {
		t.Fatalf("openGeoIP: %v", err)
	}
	defer func() { _ = geo.Close() }()
	for addr, want := range map[string][2]string{
		"10.1.2.3":    {"DE", "65536"},
		"203.0.113.9": {"US", "2"},
		"2001:db8::1": {"", ""},
	} {
		country, region := geo.locate(netip.MustParseAddr(addr))
		if got := [2]string{country, region}; got != want {
			t.Errorf("locate(%s): got %v, want %v", addr, got, want)
		}
	}
}

func TestAFileThatIsNoDatabaseNamesTheKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "no.mmdb")
	if err := os.WriteFile(path, []byte("not a database"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openGeoIP(path); err == nil || !strings.Contains(err.Error(), "geoip.file") {
		t.Errorf("openGeoIP: got %v, want an error that names geoip.file", err)
	}
}
