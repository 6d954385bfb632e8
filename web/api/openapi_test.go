package api

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/history"
	"github.com/respawnd/respawnd/internal/meeting"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/played"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/web/front"
	"github.com/respawnd/respawnd/web/webtest"
	"github.com/respawnd/respawnd/zanmaster"
)

// document is the description of the API with its parts seen so far: members of
// schemas, "GET /path 200", "event added".
type document struct {
	*webtest.Document
	t *testing.T
}

func readDocument(t *testing.T) *document {
	t.Helper()
	return &document{webtest.ReadDocument(t, describe(nil)), t}
}

// answer compares an answer with its description.
func (d *document) answer(path string, w *httptest.ResponseRecorder) {
	d.t.Helper()
	op := d.At(d.At(d.At(d.Root["paths"])[path])["get"])
	status := strconv.Itoa(w.Code)
	described, ok := d.At(op["responses"])[status]
	if !ok {
		d.t.Errorf("GET %s: got %s %s, which is not described", path, status, w.Body)
		return
	}
	d.Seen[path+" "+status] = true
	r := d.At(described)
	headers, _ := r["headers"].(webtest.Object)
	for name := range headers {
		if w.Header().Get(name) == "" {
			d.t.Errorf("GET %s: %s without the header %s", path, status, name)
		}
	}
	for _, name := range []string{"ETag", "Retry-After"} {
		if _, ok := headers[name]; !ok && w.Header().Get(name) != "" {
			d.t.Errorf("GET %s: %s has %s, which is not described", path, status, name)
		}
	}
	content, _ := r["content"].(webtest.Object)
	kind, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
	switch media, ok := content[kind].(webtest.Object); {
	case len(content) == 0 && w.Body.Len() == 0:
	case !ok:
		d.t.Errorf("GET %s: %s of type %q with %d bytes, which is not described", path, status, kind, w.Body.Len())
	case kind == "application/json":
		d.Check(path, path, media["schema"], webtest.Decode[any](d.t, w.Body))
	case kind == "text/event-stream":
		d.stream(path, r, w.Body.String())
	}
}

// stream compares the events of an answer with their description.
func (d *document) stream(path string, response webtest.Object, text string) {
	d.t.Helper()
	kinds := make(map[string]any) // schemas of data
	list := d.At(d.At(response["content"])["text/event-stream"])["schema"].(webtest.Object)
	for _, option := range d.At(list["items"])["anyOf"].([]any) {
		properties := d.At(d.At(option)["properties"])
		kinds[d.At(properties["event"])["const"].(string)] = d.At(properties["data"])["contentSchema"]
	}
	for _, e := range regexp.MustCompile(`event: (.*)\ndata: (.*)\n\n`).FindAllStringSubmatch(text, -1) {
		schema, ok := kinds[e[1]]
		if !ok {
			d.t.Errorf("event %s is not described", e[1])
			continue
		}
		d.Seen["event "+e[1]] = true
		d.Check(path+" "+e[1], path, schema, webtest.Decode[any](d.t, strings.NewReader(e[2])))
	}
}

// described is a service with one of everything.
func described(t *testing.T) *fixture {
	f := newFixture(t, func(o *Options) {
		o.Domains, o.Stats = []string{"gamespy.com", "example.org"}, webtest.NewStats()
		o.Verdicts, o.Players, o.Meetings = verdicts.NewLog(zerolog.Nop(), 0), verdicts.NewLog(zerolog.Nop(), 0), new(meeting.Recorder)
		o.Played = played.New(storetest.New(t), nil)
	})
	err := f.api.opt.Played.Write(t.Context(), storage.PlayReport{
		PlayReportID: storage.PlayReportID{Day: "2026-11-28", Game: "gmtest", Reporter: "a"}, Step: storage.Played, Source: "a forum",
	})
	if err != nil {
		t.Fatal(err)
	}
	f.api.opt.Played.NewPeer().Set([]played.PeerCount{{Game: "gmtest", Tally: games.Tally{Times: 3, Last: "2026-11-03"}}}, time.Now())
	here := netip.MustParseAddrPort("192.0.2.1:6500") // the address of the requests
	f.api.opt.Verdicts.Note("qr2", here, "gmtest", verdicts.Unreachable)
	f.api.opt.Players.NotePlayer("natneg", here.Addr(), "gmtest", verdicts.NotMet)
	f.api.opt.Meetings.Saw(here.Addr(), meeting.Symmetric)
	rich := webtest.Listed{
		Rules:   []string{"hostname", "h", "hostport", "7777", "mapname", "m", "numplayers", "2", "maxplayers", "8"},
		Players: [][]string{{"player_"}, {"a"}}, Teams: [][]string{{"team_t"}, {"Red"}},
		Change: func(s *master.Server) { s.Country = "NZ" },
	}
	known := f.Catalog.All()
	for i := range known {
		if known[i].Name == "gmtest" {
			known[i].Join = "game://{address}"
		}
	}
	if err := f.Catalog.Replace(known); err != nil {
		t.Fatal(err)
	}
	f.Put(rich)
	f.Put(webtest.Listed{Addr: "192.0.2.2:6500", Game: "gmother", Change: func(s *master.Server) { s.Origin = zanmaster.Origin }})
	now := time.Now()
	f.api.opt.History.Begin(now.Add(-25 * time.Hour)).End()
	f.api.sampleNow(now.Add(-2 * history.Interval))
	f.api.opt.History.Begin(now.Add(-history.Interval)).End()
	f.api.sampleNow(now)
	return f
}

func TestOpenAPIPaths(t *testing.T) {
	d := readDocument(t)
	var want, got []string
	for _, r := range newFixture(t).api.Routes() {
		if rest, ok := strings.CutPrefix(r.Pattern, "/api/v1"); ok {
			want = append(want, rest)
		}
	}
	d.Operations(func(path string, op webtest.Object) {
		got = append(got, path)
		placeholders := regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(path, -1)
		if in := d.Parameters(op, "path"); len(in) != len(placeholders) || (len(in) == 1 && in[placeholders[0][1]] == nil) {
			t.Errorf("%s: parameters in the path %v, want those between braces", path, slices.Collect(maps.Keys(in)))
		}
	})
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths (-handlers +document):\n%s", diff)
	}
}

func TestOpenAPIPromises(t *testing.T) {
	d := readDocument(t)
	if s, ok := d.Root["security"].([]any); !ok || len(s) > 0 {
		t.Errorf("security: got %v, want an empty list: nothing needs a key", d.Root["security"])
	}
	if strings.Contains(string(openAPI), `"additionalProperties": false`) {
		t.Error("an answer must not have new fields, but the description promises that they may come")
	}
}

// target returns the address of a path with its example values.
func (d *document) target(path string, op webtest.Object) string {
	for name, p := range d.Parameters(op, "path") {
		path = strings.ReplaceAll(path, "{"+name+"}", p["example"].(string))
	}
	return "/api/v1" + path
}

func TestOpenAPIParameters(t *testing.T) {
	d, f := readDocument(t), described(t)
	known := regexp.MustCompile(`known are: (.*)$`)
	d.Operations(func(path string, op webtest.Object) {
		target := d.target(path, op)
		query := d.Parameters(op, "query")
		names := slices.Sorted(maps.Keys(query))
		text := webtest.ErrorText(t, f.Get(target+"?no.such.parameter=1"))
		handled := strings.Split(known.FindStringSubmatch(text)[1], ", ")
		slices.Sort(handled)
		if len(names) == 0 {
			names = []string{"none"}
		}
		if diff := cmp.Diff(handled, names); diff != "" {
			t.Errorf("%s: parameters (-handler +document):\n%s", path, diff)
		}
		for name, p := range query {
			schema := d.At(p["schema"])
			good := []string{fmt.Sprint(p["example"])}
			var bad []string
			if enum, ok := schema["enum"].([]any); ok {
				for _, v := range enum {
					good = append(good, v.(string))
				}
				bad = append(bad, "nosuch")
			}
			if low, ok := schema["minimum"].(float64); ok {
				high := schema["maximum"].(float64)
				good = append(good, fmt.Sprint(int(low)), fmt.Sprint(int(high)))
				bad = append(bad, fmt.Sprint(int(low)-1), fmt.Sprint(int(high)+1))
			}
			if v, ok := schema["default"]; ok {
				good = append(good, fmt.Sprint(v))
				if a, b := f.Get(target), f.Get(target+"?"+name+"="+fmt.Sprint(v)); a.Body.String() != b.Body.String() {
					t.Errorf("%s: %s=%v is not what comes without it", path, name, v)
				}
			}
			for _, v := range good {
				if w := f.Do(http.MethodHead, target+"?"+name+"="+v); w.Code != http.StatusOK {
					t.Errorf("%s?%s=%s: got %d, want 200", path, name, v, w.Code)
				}
			}
			for _, v := range bad {
				if w := f.Get(target + "?" + name + "=" + v); w.Code != http.StatusBadRequest {
					t.Errorf("%s?%s=%s: got %d, want 400", path, name, v, w.Code)
				}
			}
		}
	})
}

func TestOpenAPIAnswers(t *testing.T) {
	d, f := readDocument(t), described(t)
	whole := front.NewAnswer(make([]byte, front.MaxSending))
	d.Operations(func(path string, op webtest.Object) {
		target := d.target(path, op)
		get := func(query string, header ...string) {
			if path == "/events" && query == "" {
				d.answer(path, f.events(header...))
				return
			}
			d.answer(path, f.Get(target+query, header...))
		}
		get("")
		get("?no.such.parameter=1")
		for name := range d.Parameters(op, "query") {
			if name != "game" || path != "/events" {
				get("?" + name + "=" + fmt.Sprint(d.Parameters(op, "query")[name]["example"]))
			}
		}
		for name := range d.Parameters(op, "header") {
			get("", name, "*")
		}
		for name := range d.Parameters(op, "path") {
			missing := strings.ReplaceAll("/api/v1"+path, "{"+name+"}", "nosuch-192.0.2.9-1")
			d.answer(path, f.Get(missing))
		}
		f.api.SetLimits(1, 1, nil)
		f.api.SetStreams(1, 64)
		f.Get("/")
		d.answer(path, f.Get(target))
		f.api.SetLimits(0, 0, nil)
		free := f.busy(whole)
		if path == "/events" { // streams have a bound of their own
			f.api.streams.Enter(addr("192.0.2.7:1").Addr(), time.Now(), func() {})
		}
		d.answer(path, f.Get(target))
		free()
		f.api.SetStreams(4096, 64)
	})
	d.answer("/servers", f.Get("/api/v1/servers?limit=1"))
	d.answer("/games/{name}/ranking", f.Get("/api/v1/games/gmtest/ranking?limit=1"))
	d.answer("/games/{name}/matches", f.Get("/api/v1/games/gmtest/matches?limit=1"))
	d.answer("/games/{name}/tables/{table}", f.Get("/api/v1/games/gmtest/tables/levels?limit=1"))
	d.answer("/servers/{id}/history", f.Get("/api/v1/servers/zandronum-192.0.2.2-6500/history"))
	f.Put(webtest.Listed{Addr: "192.0.2.3:1"})
	f.Put(webtest.Listed{Addr: "192.0.2.4:1025", Change: func(s *master.Server) {
		s.Origin, s.Told, s.Vouched = master.Federated, "friends", true
	}})
	f.api.lister.master = "abcdef"
	d.answer("/servers", f.Get("/api/v1/servers"))
	d.answer("/servers/{id}/history", f.Get("/api/v1/servers/qr2-192.0.2.3-1/history"))
	for port := range maxServersHere {
		f.Put(webtest.Listed{Addr: fmt.Sprintf("192.0.2.1:%d", 7000+port)})
	}
	d.answer("/connection", f.Get("/api/v1/connection"))
	d.nothingUnseen()
}

// stuck is a visitor who does not read before release.
type stuck struct {
	header        http.Header
	sending, free chan struct{}
}

func (s *stuck) Header() http.Header { return s.header }
func (s *stuck) WriteHeader(int)     {}
func (s *stuck) Write(p []byte) (int, error) {
	close(s.sending)
	<-s.free
	return len(p), nil
}

// busy has an answer on its way until free is called.
func (f *fixture) busy(with *front.Answer) (free func()) {
	w := &stuck{http.Header{}, make(chan struct{}), make(chan struct{})}
	r := httptest.NewRequestWithContext(f.T.Context(), http.MethodGet, "/", nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.api.Send(w, r, front.Text, with)
	}()
	<-w.sending
	return func() { close(w.free); <-done }
}

// nothingUnseen fails for each described part that did not come.
func (d *document) nothingUnseen() {
	d.t.Helper()
	d.Operations(func(path string, op webtest.Object) {
		for status := range d.At(op["responses"]) {
			if status != "default" && !d.Seen[path+" "+status] {
				d.t.Errorf("GET %s: %s is described and never came", path, status)
			}
		}
	})
	for _, member := range d.Unseen(func(schema string) bool { return !strings.HasPrefix(schema, "Webhook") }) {
		d.t.Errorf("%s is described and never came", member)
	}
	for _, kind := range []string{"added", "changed", "removed", "rooms", "reset"} {
		if !d.Seen["event "+kind] {
			d.t.Errorf("event %s never came", kind)
		}
	}
}

// events returns an answer with events of every kind.
func (f *fixture) events(header ...string) *httptest.ResponseRecorder {
	f.T.Helper()
	gone := f.Put(webtest.Listed{Addr: "198.51.100.1:1"})
	f.Put(webtest.Listed{Addr: "198.51.100.2:1"})
	ctx, cancel := context.WithCancel(f.T.Context())
	cancel() // the stream ends after its beginning
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/events", nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	f.Handler.ServeHTTP(w, r)
	out := &stream{server: f.api, w: w, control: http.NewResponseController(w), at: f.api.lister.registry.LastSerial()}
	f.Put(webtest.Listed{Addr: "198.51.100.2:1", Rules: []string{"a", "b"}})
	f.Put(webtest.Listed{Addr: "198.51.100.3:1"})
	f.Registry.Remove(gone)
	if err := out.tell(f.api.feed.write(out.at, f.api.lister.registry.LastSerial())); err != nil {
		f.T.Errorf("tell: %v", err)
	}
	f.api.lobby.apply(map[string]map[uint32]int{"gmtest": {0: 1, 7: len(header) + 2}})
	if err := out.tellCounts(); err != nil {
		f.T.Errorf("tellCounts: %v", err)
	}
	f.Registry.RemoveFunc(func(s *master.Server) bool { return strings.HasPrefix(s.Public.String(), "198.51.100.") })
	return w
}

func TestHead(t *testing.T) {
	d, f := readDocument(t), described(t)
	d.Operations(func(path string, op webtest.Object) {
		target := d.target(path, op)
		if path == "/events" || strings.HasPrefix(path, "/servers.") { // streams: their length is not known
			return
		}
		get, head := f.Get(target), f.Do(http.MethodHead, target)
		if head.Code != get.Code || head.Body.Len() != 0 || head.Header().Get("Content-Length") != fmt.Sprint(get.Body.Len()) {
			t.Errorf("HEAD %s: got %d, length %s, body %d; want %d, %d, none",
				target, head.Code, head.Header().Get("Content-Length"), head.Body.Len(), get.Code, get.Body.Len())
		}
	})
}

// TestOpenAPIWithoutNouns describes APIs without one noun each, and one without any.
func TestOpenAPIWithoutNouns(t *testing.T) {
	all := webtest.Nouns()
	all[noun.Chat], all[noun.Relays] = true, true
	reference := regexp.MustCompile(`"\$ref": "#/components/(\w+)/(\w+)"`)
	check := func(name string, nouns noun.Set, words string) {
		t.Run(name, func(t *testing.T) {
			body := describe(nouns)
			d := &document{webtest.ReadDocument(t, body), t}
			for _, m := range reference.FindAllSubmatch(body, -1) {
				if d.At(d.At(d.Root["components"])[string(m[1])])[string(m[2])] == nil {
					t.Errorf("%s is missing", m[0])
				}
			}
			if words != "" {
				if found := regexp.MustCompile(words).FindAll(body, -1); found != nil {
					t.Errorf("the description has %q", found)
				}
			}
		})
	}
	check("all", all, `x-noun|x-without`)
	for n := range all {
		without := maps.Clone(all)
		delete(without, n)
		check(string(n), without, map[noun.Noun]string{
			noun.Chat: `chat\.|chat_ban`, noun.Meetings: `negotiated|negotiations|router|NAT`, noun.Stats: `ranking|matches|boards`, noun.Accounts: `sign in`,
		}[n])
	}
	check("none", noun.Set{}, `chat|negotiat(ed|ions)|router|NAT|[Rr]anking|sign in|group room`)
}
