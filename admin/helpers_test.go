package admin

import (
	"bytes"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/bans"
	"github.com/respawnd/respawnd/internal/chatrules"
	playerfiles "github.com/respawnd/respawnd/internal/files"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/logtail"
	"github.com/respawnd/respawnd/internal/meeting"
	"github.com/respawnd/respawnd/internal/news"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/played"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/storage"
)

const testToken = "0123456789abcdef0123456789abcdef"

// testHost is the host of requests.
const testHost = "127.0.0.1:8081"

// embedded stands for the built-in catalogue.
const embedded = `games:
  - name: gmtest
    title: Test
    secret: HA6zkS
    id: 7
    port: 6500
  - name: nokey
    title: No key
  - name: rooms
    secret: aB3dE6
    backend_flags: 0x80
    rooms: [{id: 1, name: One, max_waiting: 50, fields: {roomType: "1"}}, {id: 2, name: Two}]
`

// newLocal returns the operator's commands on a fresh store, as in the daemon.
func newLocal(t testing.TB) *operator.Local {
	t.Helper()
	dir := t.TempDir()
	store := storetest.NewWhole(t)
	l := &operator.Local{
		OpenAccounts: opener(store, filepath.Join(dir, "account.key")),
		Store:        store, Table: bans.New(store), Rules: chatrules.New(store), PlayerFiles: playerfiles.New(store, dir), News: news.New(store), Played: played.New(store, nil), Catalogue: &operator.Catalogue{Embedded: games.Embedded{Facts: []byte(embedded)}, Store: store},
		DataDir: dir, StoreName: "test.db", Version: "test",
		ResetPage: func() string { return "https://servers.example.org/account/reset" },
		Listening: func() (time.Time, map[string]string) {
			return time.Now(), map[string]string{"qr2": "127.0.0.1:27900"}
		},
		MeetingCounts: testMeetings(),
		OtherMasters: func() []operator.OtherMaster {
			return []operator.OtherMaster{{
				Name: "example.org", Protocol: "q3", Address: "example.org:27950", State: operator.MasterFailing, Error: evil, Failures: 2,
				Next: time.Now().Add(time.Minute), Told: 3, Listed: 2, Refused: map[string]int{"private": 4},
			}}
		},
		Registry: master.NewRegistry(master.Limits{}), ServerLog: verdicts.NewLog(zerolog.Nop(), 0),
	}
	if err := l.Catalogue.Load(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	return l
}

// putFile uploads a file of profile 1.
func putFile(t *testing.T, l *operator.Local) storage.File {
	t.Helper()
	u, err := l.PlayerFiles.Begin(t.Context(), 1, 9)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.Write([]byte("<script>x")); err != nil {
		t.Fatal(err)
	}
	f, err := u.Commit(t.Context(), "gmtest", "<b>.bin")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// options are those of a server for an operator.
func options(op operator.Conn, log *bytes.Buffer) Options {
	o := Options{
		Operations: service.Operations{Operator: op, Gatherer: prometheus.NewRegistry(), Tail: logtail.New(100)}, Token: testToken, Self: part.Self{Log: zerolog.Nop()},
	}
	if log != nil {
		o.Log = zerolog.New(log)
	}
	return o
}

// serve serves an operator over HTTP and returns a client with the token.
func serve(t testing.TB, op operator.Conn, token string) *client {
	t.Helper()
	s := httptest.NewServer(New(options(op, nil)).Handler())
	t.Cleanup(s.Close)
	c, err := newClient(strings.TrimPrefix(s.URL, "http://"), token)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// put lists a server.
func put(t testing.TB, l *operator.Local, game, public string, rules ...string) {
	t.Helper()
	a := netip.MustParseAddrPort(public)
	s := master.Server{
		Key: master.Key{Source: a, Instance: 1}, Game: game, Origin: qr2.Origin, Public: a, Seen: time.Now(), NATNeg: true,
		Findings: master.Findings{Reached: master.ReachedDirect},
	}
	var names []string
	var report master.Report
	for i := 0; i+1 < len(rules); i += 2 {
		names = append(names, rules[i])
		report.Rule([]byte(rules[i+1]))
	}
	report.SetRules(l.Registry.Names(names))
	if err := report.Into(&s); err != nil {
		t.Fatal(err)
	}
	if err := l.Registry.Put(s); err != nil {
		t.Fatal(err)
	}
}

// testMeetings returns the outcomes of two pairs of players.
func testMeetings() *meeting.Recorder {
	r := new(meeting.Recorder)
	r.Note(meeting.Outcome{KindA: meeting.Symmetric, KindB: meeting.Symmetric, Way: meeting.Relayed})
	r.Note(meeting.Outcome{KindA: meeting.Cone, KindB: meeting.Symmetric, Way: meeting.Negotiated})
	return r
}
