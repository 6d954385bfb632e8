package webservices

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/records"
)

// oneTicket is the ticket of profile 1 in the recorded exchanges.
type oneTicket string

func (t oneTicket) CheckTicket(s string) (storage.ProfileID, error) {
	if s != string(t) {
		return 0, accounts.ErrBadTicket
	}
	return 1, nil
}

func (oneTicket) IssueTicket(storage.ProfileID) string { return "" }

// exchange is a recorded request and the reply that the client understood.
type exchange struct {
	Action   string `json:"action"`
	Head     string `json:"request_head"`
	Body     string `json:"request_body"`
	Response string `json:"response"`
}

func readExchanges(t *testing.T) (all []exchange) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "sake.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// openRecords returns a store with one profile.
func openRecords(t *testing.T) *records.Store {
	t.Helper()
	s := storetest.New(t)
	if _, _, err := s.CreateUser(t.Context(), storage.User{Email: "a@b.c"}, storage.Profile{Nick: "Ann"}); err != nil {
		t.Fatal(err)
	}
	return s
}

// raw sends a recorded request over a connection and returns the reply whole.
func raw(t *testing.T, address string, e exchange) string {
	t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, strings.TrimRight(e.Head, "\r\n")+"\r\n\r\n"+e.Body); err != nil {
		t.Fatal(err)
	}
	reply, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(reply)
}

// recordedValue returns a value of a recorded reply.
func recordedValue(kind storage.SakeType, text string) storage.SakeValue {
	v, err := storage.ParseSakeValue(kind, text)
	if err != nil {
		panic(err)
	}
	return v
}

// allTypes are the fields of the record in the recorded replies.
func allTypes() []storage.SakeField {
	return []storage.SakeField{
		{Name: "b", Value: recordedValue(storage.SakeByte, "200")},
		{Name: "s", Value: recordedValue(storage.SakeShort, "-5")},
		{Name: "i", Value: recordedValue(storage.SakeInt, "123456")},
		{Name: "f", Value: recordedValue(storage.SakeFloat, "1.5")},
		{Name: "a", Value: recordedValue(storage.SakeASCII, "a&b")},
		{Name: "u", Value: recordedValue(storage.SakeUnicode, "hé")},
		{Name: "o", Value: recordedValue(storage.SakeBoolean, "1")},
		{Name: "d", Value: recordedValue(storage.SakeDate, "2010-05-06T07:08:09Z")},
		{Name: "x", Value: recordedValue(storage.SakeBinary, "AAECAwQ=")},
		{Name: "l", Value: recordedValue(storage.SakeInt64, "1234567890123")},
	}
}

// TestRecordedRecords replays the requests of a client of the original libraries over
// sockets, on tables in which the recorded replies are the right ones.
func TestRecordedRecords(t *testing.T) {
	mytable := storage.SakeTableID{Game: "gmtest", Name: "mytable"}
	number := func(name string, n int64) []storage.SakeField {
		return []storage.SakeField{{Name: name, Value: storage.SakeValue{Type: storage.SakeInt, Num: n}}}
	}
	add := func(fields []storage.SakeField, n int) func(*testing.T, *records.Store) {
		return func(t *testing.T, s *records.Store) {
			for range n {
				if _, err := s.CreateSakeRecord(t.Context(), mytable, 1, fields, storage.SakeLimits{}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	seen := map[string]int{}
	for _, e := range readExchanges(t) {
		seen[e.Action]++
		t.Run(fmt.Sprint(e.Action, seen[e.Action]), func(t *testing.T) {
			want := e.Response
			var before func(*testing.T, *records.Store)
			switch e.Action {
			case "CreateRecord":
				before = add(nil, 76)
			case "UpdateRecord", "DeleteRecord":
				before = add(nil, 77)
			case "GetMyRecords":
				before = add(allTypes(), 1)
			case "SearchForRecords":
				// The filter, the owners and the target of the recorded request lead to
				// no record; the reply was made by hand.
				before = add(allTypes(), 77)
				want = regexp.MustCompile(`<values>.*</values>`).ReplaceAllString(want, "<values />")
			case "GetSpecificRecords":
				before = add(allTypes(), 1)
			case "GetRandomRecords":
				before = add(append(number("b", 9), number("i", 2)...), 1)
			case "RateRecord":
				before = add(nil, 77)
				want = strings.NewReplacer("<numRatings>3", "<numRatings>1", "<averageRating>4.5", "<averageRating>5").Replace(want)
			case "GetRecordLimit":
				before = add(nil, 2)
			case "GetRecordCount":
				before = add(number("i", 2), 42)
			}
			store := openRecords(t)
			before(t, store)
			catalog, err := games.NewCatalog([]games.Game{{Name: "gmtest", Secrets: []string{"HA6zkS"}, Tables: []games.Table{{Name: "mytable", Limit: 10_000}}}})
			if e.Action == "GetRecordLimit" {
				catalog, err = games.NewCatalog([]games.Game{{Name: "gmtest", Secrets: []string{"HA6zkS"}, Tables: []games.Table{{Name: "mytable", Limit: 10}}}})
			}
			if err != nil {
				t.Fatal(err)
			}
			address := serveRecords(t, store, catalog)
			reply := raw(t, address, e)
			head, body, _ := strings.Cut(reply, "\r\n\r\n")
			if body != want {
				t.Errorf("reply\n%s, want\n%s", body, want)
			}
			for _, part := range []string{"HTTP/1.1 200 OK\r\n", "Content-Type: text/xml; charset=utf-8", fmt.Sprintf("Content-Length: %d", len(body)), "Connection: close"} {
				if !strings.Contains(head+"\r\n", part) {
					t.Errorf("head %q, want %q in it", head, part)
				}
			}
		})
	}
	if len(seen) != 10 {
		t.Errorf("%d methods were recorded, want 10", len(seen))
	}
}

// serveRecords serves a store and returns the address.
func serveRecords(t *testing.T, store *records.Store, catalog *games.Catalog) string {
	t.Helper()
	_, opt := newTestServer(t, nil)
	opt.Registerer, opt.Metrics = nil, nil
	opt.Games, opt.Records, opt.Tickets = catalog, store, oneTicket("0123456789abcdef0123456_")
	opt.Config.RequestSize, opt.Config.FieldsPerRecord, opt.Config.ValueSize = 1<<20, 200, 64<<10
	opt.Config.RecordSize, opt.Config.RecordsPerOwner, opt.Config.ScanRecords = 1<<20, 10_000, 1000
	s, err := New(*opt)
	if err != nil {
		t.Fatal(err)
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return ln.Addr().String()
}
