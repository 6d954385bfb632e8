package gstats

import (
	"bytes"
	"encoding/hex"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/storage"
)

// recordedText is the recorded server's error for an unknown CD key, and ownText the
// one of this package.
const (
	recordedText = "Invalid CD Key"
	ownText      = "the account has no such profile"
)

// startRecorded runs a service with the challenge, the session key and the data of the
// recorded one.
func startRecorded(t *testing.T) (*fixture, net.Conn) {
	f := build(t, nil)
	f.server.newChallenge = func() string { return "ABCDEFGHIJ" }
	f.server.keys.draw = func() uint64 { return 160 }
	id := storage.StatBlockID{Game: "gmtest", Profile: firstPlayer, Kind: 2, Index: 2}
	f.book.blocks[id] = storage.StatBlock{StatBlockID: id, Data: []byte("x"), Modified: time.Unix(1600000000, 0)}
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.serve(ln)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp4", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(timeout))
	return f, conn
}

// replay plays the client of a recording and compares every byte of the server. size is
// how much is sent at once, 0 for whole messages.
func replay(t *testing.T, conn net.Conn, all []message, size int) {
	t.Helper()
	for i, m := range all {
		wire := m.bytes(t)
		if m.Dir == "C>S" {
			for _, part := range slices.Collect(slices.Chunk(wire, max(size, 1))) {
				if size == 0 {
					part = wire
				}
				if _, err := conn.Write(part); err != nil {
					t.Fatal(err)
				}
				if size == 0 {
					break
				}
			}
			continue
		}
		if text := m.text(); strings.Contains(text, recordedText) {
			body := strings.TrimSuffix(strings.ReplaceAll(text, recordedText, ownText), `\final\`)
			wire = seal([]byte(body), 0)
		}
		got := make([]byte, len(wire))
		if _, err := io.ReadFull(conn, got); err != nil {
			t.Fatalf("message %d, %q: %v", i, m.Clear, err)
		}
		if !bytes.Equal(got, wire) {
			crypt(got, 0)
			t.Fatalf("message %d is %q, want %q", i, got, m.Clear)
		}
	}
}

// finished waits until the server has executed everything.
func finished(t *testing.T, conn net.Conn) {
	t.Helper()
	if _, err := conn.Write(seal([]byte(`\ka\`), 0)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(appendKeepAlive(nil)))
	if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, appendKeepAlive(nil)) {
		t.Fatalf("a keepalive is answered with %q, %v", got, err)
	}
}

func TestRecordedSession(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"messages": 0, "bytes": 1, "pieces": 7} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, conn := startRecorded(t)
			replay(t, conn, loadRecorded(t).Session, size)
			finished(t, conn)
			want := []stats.Snapshot{
				{Session: -88506961, Begin: true, Trusted: true},
				{Session: -88506961, Trusted: true, Pairs: pairsOf("hostname", "My Server", "player_0", "Bob", "score_0", "12")},
				{Session: -88506960, Begin: true, Trusted: true},
				{Session: -88506960, Trusted: true, Done: true, Pairs: pairsOf("player_0", "Alice", "acc_0", "0.500000", "score_0", "8", "hostname", "Bkt Srv", "ctime_0", "0", "team_t0", "Red", "ctime_t0", "0", "mapname", "dm/1")},
			}
			compareReports(t, f.book.reported(), want)
			if host := f.book.reported()[0].Server; host.Port() != 7778 {
				t.Errorf("the server is %v, want port 7778", host)
			}
		})
	}
}

func TestRecordedOfflineGame(t *testing.T) {
	t.Parallel()
	f, conn := startRecorded(t)
	replay(t, conn, loadRecorded(t).Offline, 0)
	finished(t, conn)
	compareReports(t, f.book.reported(), []stats.Snapshot{
		{Begin: true},
		{Done: true, Pairs: pairsOf("hostname", "Offline", "score_0", "1")},
	})
}

// compareReports compares reports of gmtest.
func compareReports(t *testing.T, got, want []stats.Snapshot) {
	t.Helper()
	for i := range want {
		want[i].Game = "gmtest"
	}
	ignore := cmpopts.IgnoreFields(stats.Snapshot{}, "Conn", "Server", "At", "Proved")
	if diff := cmp.Diff(want, got, ignore); diff != "" {
		t.Errorf("reports, -want +got:\n%s", diff)
	}
	for _, s := range got {
		if s.Conn == 0 || s.Conn != got[0].Conn || !s.Server.IsValid() || s.At.IsZero() {
			t.Errorf("report %+v has no connection, address or time", s)
		}
	}
}

// The clients of the probes read their first message at once, and accept the service's
// messages: see framing_probes of the recording.
func TestRecordedProbes(t *testing.T) {
	t.Parallel()
	r := loadRecorded(t)
	short := slices.Index(r.Probes, `short auth: b''`)
	if short < 0 || r.Probes[short+1] != "INIT=7" || r.Probes[1] != "INIT=0" {
		t.Fatal("the recording has other probes")
	}
	greeting := appendGreeting(nil, "ABCDEFGHIJ")
	if n := len(greeting); n < 38 || n > 63 {
		t.Errorf("the first message has %d bytes, clients wait for 38 and have room for 63", n)
	}
	if n := len(appendServed(nil, 1<<31-1)); n >= 128 {
		t.Errorf("the second message has %d bytes, clients have room for 127", n)
	}
	if body := r.Session[0].bytes(t); !bytes.Equal(greeting, body) {
		t.Errorf("the first message is %x, want %x", greeting, body)
	}
	for _, p := range r.XOR {
		b := []byte(p.Clear)
		crypt(b, 0)
		if got := hex.EncodeToString(b); got != p.Hex {
			t.Errorf("crypt(%q) = %s, want %s", p.Clear, got, p.Hex)
		}
	}
}

func TestResponse(t *testing.T) {
	t.Parallel()
	all := loadRecorded(t).Hashes
	if len(all) != 12 {
		t.Fatalf("%d recorded responses, want 12", len(all))
	}
	for _, v := range all {
		if h := hashOf(v.Challenge); h != v.Hash {
			t.Errorf("hashOf(%q) = %d, want %d", v.Challenge, h, v.Hash)
		}
		if got := Response(v.Secret, v.Challenge); got != v.Response {
			t.Errorf("Response(%q, %q) = %s, want %s", v.Secret, v.Challenge, got, v.Response)
		}
		for _, tt := range []struct {
			secrets  []string
			response string
			want     bool
		}{
			{[]string{v.Secret}, v.Response, true},
			{[]string{"", "other1", v.Secret}, v.Response, true},
			{[]string{"other1"}, v.Response, false},
			{[]string{""}, Response("", v.Challenge), false},
			{nil, v.Response, false},
			{[]string{v.Secret}, v.Response[:31], false},
			{[]string{v.Secret}, v.Response + "0", false},
		} {
			if got := proves(tt.secrets, v.Challenge, []byte(tt.response)); got != tt.want {
				t.Errorf("proves(%q, %q, %s) = %v", tt.secrets, v.Challenge, tt.response, got)
			}
		}
	}
}

func TestPlayerChallenge(t *testing.T) {
	t.Parallel()
	all := loadRecorded(t).Players
	if len(all) != 5 {
		t.Fatalf("%d recorded challenges, want 5", len(all))
	}
	for _, v := range all {
		if got := PlayerChallenge(v.Key); got != v.Challenge {
			t.Errorf("PlayerChallenge(%d) = %q, want %q", v.Key, got, v.Challenge)
		}
		if got := Proof("mypassword", v.Challenge); got != v.Proof {
			t.Errorf("Proof(%q) = %s, want %s", v.Challenge, got, v.Proof)
		}
	}
}
