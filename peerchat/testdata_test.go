package peerchat

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Keys of the recorded sessions.
const (
	recordedSecret     = "HA6zkS"
	recordedFromClient = "0123456789abcdef"
	recordedFromServer = "FEDCBA9876543210"
)

// recordedLine is what one side of a recorded session sent at once: lines of the
// client with their ends, or one line of the server without.
type recordedLine struct {
	Dir   string // C>S or S>C
	Clear string
	Wire  hexBytes
}

// recordedSessions returns what the original client library and a server for it
// sent to each other.
func recordedSessions(t testing.TB) map[string][]recordedLine {
	return loadJSON[map[string][]recordedLine](t, "sessions.json")
}

// loadJSON reads testdata/name. The files hold what the original client library
// computed or sent.
func loadJSON[T any](t testing.TB, name string) T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

// hexBytes is a byte string that testdata writes in hexadecimal.
type hexBytes []byte

func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}
