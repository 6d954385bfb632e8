package a2s

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// packetsOf reads testdata/name.hex: packets in hex, an empty line between them.
func packetsOf(t testing.TB, name string) (packets [][]byte) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".hex"))
	if err != nil {
		t.Fatal(err)
	}
	for one := range strings.SplitSeq(strings.ReplaceAll(string(text), "\r", ""), "\n\n") {
		b, err := hex.DecodeString(strings.Join(strings.Fields(one), ""))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		packets = append(packets, b)
	}
	return packets
}

// packetOf reads the one packet of testdata/name.hex.
func packetOf(t testing.TB, name string) []byte {
	t.Helper()
	packets := packetsOf(t, name)
	if len(packets) != 1 {
		t.Fatalf("%s: %d packets, want 1", name, len(packets))
	}
	return packets[0]
}

// bodyOf reads the body of the one packet of testdata/name.hex, a message of kind.
func bodyOf(t testing.TB, name string, kind Kind) []byte {
	t.Helper()
	m, err := ParseMessage(packetOf(t, name))
	if err != nil || m.Kind != kind {
		t.Fatalf("%s: kind %v, error %v; want %v", name, m.Kind, err, kind)
	}
	return m.Body
}

// all returns every packet in testdata.
func all(t testing.TB) (packets [][]byte) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.hex")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	for _, f := range files {
		packets = append(packets, packetsOf(t, strings.TrimSuffix(filepath.Base(f), ".hex"))...)
	}
	return packets
}
