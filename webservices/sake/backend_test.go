package sake

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/records"
	"github.com/respawnd/respawnd/webservices/soap"
)

// tickets are those of the tests: of 24 characters that end with the profile.
type tickets struct{ expired bool }

func ticket(p storage.ProfileID) string { return fmt.Sprintf("ticket%018d", p) }

func (t tickets) CheckTicket(s string) (id storage.ProfileID, err error) {
	if t.expired {
		return 0, accounts.ErrExpiredTicket
	}
	if _, err := fmt.Sscanf(s, "ticket%018d", &id); err != nil {
		return 0, accounts.ErrBadTicket
	}
	return id, nil
}

// fakeFiles has the file 555.
type fakeFiles struct{}

func (fakeFiles) Info(id int64) (size int64, created time.Time, downloads int64, ok bool) {
	if id != 555 {
		return 0, time.Time{}, 0, false
	}
	return 1234, time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC), 7, true
}

// client is the address of requests.
var client = netip.MustParseAddrPort("192.0.2.9:4000")

// fixture is a backend with a store, and players with the ids 1 to 3.
type fixture struct {
	*testing.T
	backend *Backend
	opt     Options
	db      *records.Store
	reg     *prometheus.Registry
}

// config is the default of tests.
func config() RecordConfig {
	return RecordConfig{
		RequestSize: soap.MaxBody, FieldsPerRecord: 200, ValueSize: 64 << 10, RecordSize: 1 << 20, RecordsPerOwner: 100, PlayerRecords: 1000,
		PlayerRecordSize: 8 << 20, TablesPerGame: 200, RecordsPerGame: 1e6, MaxRecords: 2e6, MaxRecordSpace: 4 << 30, ScanRecords: 200_000,
	}
}

// newFixture returns a fixture after edit.
func newFixture(t testing.TB, edit func(*Options)) *fixture {
	t.Helper()
	s := storetest.New(t)
	for i := range 3 {
		nick := fmt.Sprint("Player", i)
		if _, _, err := s.CreateUser(t.Context(), storage.User{Email: nick + "@b.c"}, storage.Profile{Nick: nick}); err != nil {
			t.Fatal(err)
		}
	}
	catalog, err := games.NewCatalog([]games.Game{
		{Name: "gmtest", Secrets: []string{"OTHERK", "HA6zkS"}, Tables: []games.Table{
			{Name: "fixed", Fields: []games.TableField{{Name: "score", Type: "int"}, {Name: "title", Type: "unicode"}}, Limit: 2, NotRateable: true},
			{Name: "shared", Write: games.AllPlayers},
			{Name: "official", Write: games.NoPlayer},
			{Name: "private", Read: games.OwnerOnly},
		}},
		{Name: "gone", Secrets: []string{"HA6zkS"}, DisabledServices: games.Gone},
	})
	if err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	opt := Options{
		Config: config(), Store: s, Tickets: tickets{}, Games: catalog, Files: fakeFiles{}, Peers: part.Peers{Verdicts: verdicts.NewLog(zerolog.Nop(), 0)},
		Self: part.Self{Log: zerolog.Nop(), Registerer: reg},
	}
	if edit != nil {
		edit(&opt)
	}
	f := &fixture{backend: New(opt), opt: opt, db: s, reg: reg}
	f.T, _ = t.(*testing.T)
	return f
}

// body returns the request of a player for a method.
func body(player storage.ProfileID, method, table, rest string) string {
	if table != "" {
		table = "<ns1:tableid>" + table + "</ns1:tableid>"
	}
	return fmt.Sprintf("<Envelope><Body><ns1:%s><ns1:gameid>0</ns1:gameid><ns1:secretKey>HA6zkS</ns1:secretKey><ns1:loginTicket>%s</ns1:loginTicket>%s%s</ns1:%s></Body></Envelope>",
		method, ticket(player), table, rest, method)
}

// send sends a request and returns the content of the Response element of the reply.
func (f *fixture) send(game, envelope string) string {
	e, err := soap.Parse([]byte(envelope))
	if err != nil {
		panic(err)
	}
	q := &soap.Request{Game: game, Method: e.Name, Body: e, From: client}
	reply := string(f.backend.Services()[0].Methods[e.Name](context.Background(), q))
	m := regexp.MustCompile(`^.*<soap:Body><` + e.Name + `Response xmlns="http://gamespy.net/sake">(.*)</` + e.Name + `Response></soap:Body></soap:Envelope>$`).FindStringSubmatch(reply)
	if m == nil {
		panic(reply)
	}
	return m[1]
}

// ask sends a request of a player to gmtest.
func (f *fixture) ask(player storage.ProfileID, method, table, rest string) string {
	return f.send("gmtest", body(player, method, table, rest))
}

// want sends a request of a player and checks the Result and the elements after it.
func (f *fixture) want(player storage.ProfileID, method, table, rest, result, content string) {
	f.Helper()
	got := f.ask(player, method, table, rest)
	if want := "<" + method + "Result>" + result + "</" + method + "Result>" + content; got != want {
		f.Errorf("%s of player %d on %s with %.300s:\n%s, want\n%s", method, player, table, rest, got, want)
	}
}

// record returns values: name, type and text of each field.
func record(fields ...string) string {
	var b strings.Builder
	for i := 0; i+2 < len(fields); i += 3 {
		fmt.Fprintf(&b, "<RecordField><name>%s</name><value><%s><value>%s</value></%[2]s></value></RecordField>", fields[i], fields[i+1], fields[i+2])
	}
	return "<values>" + b.String() + "</values>"
}

// fields returns the names of fields to ask for.
func fieldsOf(names ...string) string {
	return "<fields><string>" + strings.Join(names, "</string><string>") + "</string></fields>"
}

// list returns the values of a reply: for each record type and text of each field.
func list(records ...[]string) string {
	if len(records) == 0 {
		return "<values />"
	}
	var b strings.Builder
	for _, r := range records {
		b.WriteString("<ArrayOfRecordValue>")
		for i := 0; i+1 < len(r); i += 2 {
			fmt.Fprintf(&b, "<RecordValue><%s><value>%s</value></%[1]s></RecordValue>", r[i], r[i+1])
		}
		b.WriteString("</ArrayOfRecordValue>")
	}
	return "<values>" + b.String() + "</values>"
}

// ids returns the values of a reply with the ids of records alone.
func ids(numbers ...int) string {
	var all [][]string
	for _, n := range numbers {
		all = append(all, []string{"intValue", fmt.Sprint(n)})
	}
	return list(all...)
}

// id is the element of a record's id.
func id(n int) string { return fmt.Sprintf("<recordid>%d</recordid>", n) }

// metric returns the value of a metric without labels.
func (f *fixture) metric(name string) float64 {
	f.Helper()
	families, err := f.reg.Gather()
	if err != nil {
		f.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetCounter().GetValue() + family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	f.Fatalf("there is no metric %s", name)
	return 0
}

// TestCertificate sends the certificate of a sign-in in the place of key and ticket, as the
// client library of 2012 does.
func TestCertificate(t *testing.T) {
	elsewhere := errors.New("disk on fire")
	var shown []string
	f := newFixture(t, func(o *Options) {
		o.Verify = func(_ context.Context, c *soap.Element, proof string, from netip.Addr) (storage.ProfileID, error) {
			switch {
			case c.Text("profileid") == "3":
				return 0, elsewhere
			case proof != "right" || from != client.Addr():
				return 0, soap.ErrIdentity
			case c.Text("profileid") == "2":
				return 0, accounts.ErrBanned
			}
			return 1, nil
		}
		o.Prove = func(p storage.ProfileID, from netip.Addr, ticket string) {
			shown = append(shown, fmt.Sprintf("%d %s %q", p, from, ticket))
		}
	})
	signed := func(method, profile, proof, rest string) string {
		return f.send("gmtest", "<Envelope><Body><"+method+"><gameid>0</gameid><certificate><profileid>"+profile+"</profileid></certificate><proof>"+proof+
			"</proof><tableid>t</tableid>"+rest+"</"+method+"></Body></Envelope>")
	}
	for name, tt := range map[string]struct{ profile, proof, want string }{
		"valid":        {"1", "right", "<CreateRecordResult>Success</CreateRecordResult><recordid>1</recordid>"},
		"wrong proof":  {"1", "wrong", "<CreateRecordResult>CertificateInvalid</CreateRecordResult>"},
		"banned":       {"2", "right", "<CreateRecordResult>CertificateInvalid</CreateRecordResult>"},
		"broken store": {"3", "right", "<CreateRecordResult>DatabaseUnavailable</CreateRecordResult>"},
	} {
		if got := signed("CreateRecord", tt.profile, tt.proof, record("n", "intValue", "7")); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	if want := []string{`1 192.0.2.9 ""`}; !slices.Equal(shown, want) {
		t.Errorf("proofs for uploads %q, want %q", shown, want)
	}
	f.want(1, "GetMyRecords", "t", fieldsOf("n"), "Success", list([]string{"intValue", "7"}))
	none := newFixture(t, nil)
	if got := none.send("gmtest", "<Envelope><Body><GetMyRecords><certificate><a/></certificate></GetMyRecords></Body></Envelope>"); got != "<GetMyRecordsResult>CertificateInvalid</GetMyRecordsResult>" {
		t.Errorf("without a sign-in: %s", got)
	}
}
