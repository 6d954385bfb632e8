package competition

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/records"
	"github.com/respawnd/respawnd/webservices/soap"
)

// exchange is a recorded request with the reply that the client accepted.
type exchange struct {
	Action   string `json:"action"`
	Body     string `json:"request_body"`
	BodyHex  string `json:"request_body_hex"`
	Response string `json:"response"`
	Report   string `json:"report_hex"`
}

// recorded returns the exchanges of a client of the original SDK by method.
func recorded(t testing.TB) map[string]exchange {
	t.Helper()
	text, err := os.ReadFile("testdata/recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Requests []exchange }
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	by := make(map[string]exchange)
	for _, e := range all.Requests {
		by[e.Action] = e
	}
	return by
}

// unhex returns the bytes of a text.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil || len(b) == 0 {
		t.Fatalf("hex of %d digits: %v", len(s), err)
	}
	return b
}

// verifier accepts certificates whose proof is "good", or the recorded one.
type verifier struct{ as storage.ProfileID }

// Verify implements Verifier.
func (v verifier) Verify(_ context.Context, certificate *soap.Element, proof string, _ netip.Addr) (storage.ProfileID, error) {
	if proof != "good" && proof != "674694b3f2d10f7a0d915cfd9f4ee470" {
		return 0, errors.New("wrong proof")
	}
	id, ok := certificate.Int("profileid")
	if !ok {
		return 0, errors.New("no profile")
	}
	return cmp.Or(v.as, storage.ProfileID(id)), nil
}

// world is a backend with a store and the profiles 1 to 3.
type world struct {
	t       *testing.T
	store   *records.Store
	backend *Backend
	now     time.Time
}

func newWorld(t *testing.T, edit func(*Options)) *world {
	t.Helper()
	w := &world{t: t, now: time.Date(2026, 11, 22, 20, 0, 0, 0, time.UTC)}
	s := storetest.New(t)
	w.store = s
	for _, nick := range []string{"Ann", "Ben", "Cid"} {
		if _, _, err := s.CreateUser(t.Context(), storage.User{Email: nick + "@example.com"}, storage.Profile{Nick: nick}); err != nil {
			t.Fatal(err)
		}
	}
	w.start(edit)
	return w
}

// start makes a new backend over the store, as a restart does.
func (w *world) start(edit func(*Options)) {
	opt := Options{
		Config: MatchConfig{Wait: 10 * time.Minute, Keep: 100, Age: 24 * time.Hour}, Store: w.store, Verifier: verifier{}, Rand: rand.Reader,
		Boards: func(string) []games.Board {
			return []games.Board{{Name: "kills", Key: "7", How: games.BoardSum}, {Name: "wins", Key: "result.win", How: games.BoardSum}, {Name: "other", Key: "kills", How: games.BoardSum}}
		},
		Now: func() time.Time { return w.now }, Self: part.Self{Log: zerolog.Nop(), Registerer: prometheus.NewRegistry()},
	}
	if edit != nil {
		edit(&opt)
	}
	w.backend = New(opt)
	w.backend.restore(w.t.Context())
}

// answer is a reply.
type answer struct {
	code         string
	csid, ccid   string
	message, raw string
}

// send sends a request as the web services would hand it over.
func (w *world) send(r *soap.Request) answer {
	w.t.Helper()
	raw := w.backend.Services()[0].Methods[r.Method](w.t.Context(), r)
	body, err := soap.Parse(raw)
	if err != nil {
		w.t.Fatalf("reply %s: %v", raw, err)
	}
	result := body.Child(r.Method + "Result")
	return answer{result.Text("result"), result.Text("csid"), result.Text("ccid"), result.Text("message"), string(raw)}
}

// call sends a request of a profile. fields are names and texts of elements in turn.
func (w *world) call(method string, p storage.ProfileID, attachment []byte, fields ...string) answer {
	w.t.Helper()
	body := &soap.Element{Name: method, Children: []*soap.Element{
		{Name: "certificate", Children: []*soap.Element{
			{Name: "profileid", Value: strconv.Itoa(int(p))}, {Name: "uniquenick", Value: "nick" + strconv.Itoa(int(p))},
		}},
		{Name: "proof", Value: "good"},
	}}
	for i := 0; i+1 < len(fields); i += 2 {
		body.Children = append(body.Children, &soap.Element{Name: fields[i], Value: fields[i+1]})
	}
	r := &soap.Request{Method: method, Game: "gmtest", Body: body}
	if attachment != nil {
		r.Attachments = [][]byte{attachment}
	}
	return w.send(r)
}

// ok fails the test unless an answer is a success.
func (w *world) ok(a answer) answer {
	w.t.Helper()
	if a.code != "0" {
		w.t.Fatalf("result %s: %s", a.code, a.message)
	}
	return a
}

// play makes a session of the profiles 1 to n and returns its id and their connections.
// Profile 1 is its host if host.
func (w *world) play(n int, host bool) (csid string, conns []string) {
	w.t.Helper()
	csid = w.ok(w.call("CreateSession", 1, nil)).csid
	for p := 1; p <= n; p++ {
		authoritative := "0"
		if host { // all claim it
			authoritative = "1"
		}
		conns = append(conns, w.ok(w.call("SetReportIntention", storage.ProfileID(p), nil, "csid", csid, "ccid", "", "authoritative", authoritative)).ccid)
	}
	return csid, conns
}

// submit sends the report of profile p.
func (w *world) submit(csid string, conns []string, p int, r *Report) answer {
	w.t.Helper()
	return w.call("SubmitReport", storage.ProfileID(p), r.Append(nil), "csid", csid, "ccid", conns[p-1], "authoritative", "1")
}

// result returns a report in which the players have results.
func result(t *testing.T, conns []string, results ...Result) *Report {
	t.Helper()
	r := &Report{Developer: 7}
	for i, result := range results {
		conn, ok := ParseGUID(conns[i])
		if !ok {
			t.Fatalf("connection %q", conns[i])
		}
		r.Players = append(r.Players, Player{
			Conn: conn, Team: uint32(10 * (i + 1)), Result: result, Values: []Value{{Key: 7, Type: TypeInt32, Int: int64(5 + i)}},
		})
		r.Teams = append(r.Teams, Team{Result: result})
	}
	return r
}

// matches returns the stored matches, the newest first.
func (w *world) matches() (all []storage.Match) {
	w.t.Helper()
	for m, err := range w.store.Matches(w.t.Context(), "gmtest", 0) {
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// outcome returns that of the only match.
func (w *world) outcome() storage.MatchOutcome {
	w.t.Helper()
	all := w.matches()
	if len(all) != 1 {
		w.t.Fatalf("%d matches", len(all))
	}
	return all[0].Outcome
}

// score returns the score of a profile, 0 if there is none.
func (w *world) score(board string, p storage.ProfileID) float64 {
	w.t.Helper()
	s, err := w.store.RankOf(w.t.Context(), storage.ScoreID{Game: "gmtest", Board: board, Profile: p})
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		w.t.Fatal(err)
	}
	return s.Value
}

// post returns a request with a body in DIME.
func post(t *testing.T, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://gmtest.comp.pubsvs.gamespy.com/", body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// stuck is a body whose client sends less than it announced, and waits.
type stuck struct {
	*bytes.Reader
	t *testing.T
}

func (s stuck) Read(p []byte) (int, error) {
	if s.Len() == 0 {
		s.t.Fatal("the body is read behind its last record")
	}
	return s.Reader.Read(p[:min(len(p), 7)])
}

// refuser refuses all certificates.
type refuser struct{}

// Verify implements Verifier.
func (refuser) Verify(context.Context, *soap.Element, string, netip.Addr) (storage.ProfileID, error) {
	return 0, errors.New("not ours")
}
