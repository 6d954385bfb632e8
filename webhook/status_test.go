package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/storage"
)

// memoryPosts is a store of messages.
type memoryPosts struct {
	mu   sync.Mutex // guards the fields below
	ids  map[string]string
	fail error // of PutPost
}

func (m *memoryPosts) Post(_ context.Context, place string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if id := m.ids[place]; id != "" {
		return id, nil
	}
	return "", storage.ErrNotFound
}

func (m *memoryPosts) PutPost(_ context.Context, place, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	m.ids[place] = id
	return storage.CheckPost(place, id)
}

func (m *memoryPosts) refuse(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = err
}

// discord is a chat with the messages of one webhook, as Discord's interface describes it.
type discord struct {
	mu       sync.Mutex // guards the fields below
	messages map[string]string
	made     int
	asked    []string // method, path and query of each request
	at       []time.Time
	refuse   func(http.ResponseWriter) bool // answers in place of the chat
}

func newDiscord() *discord { return &discord{messages: make(map[string]string)} }

func (d *discord) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked, d.at = append(d.asked, r.Method+" "+r.URL.RequestURI()), append(d.at, time.Now())
	body, _ := io.ReadAll(r.Body)
	id := path.Base(r.URL.Path)
	switch {
	case d.refuse != nil && d.refuse(w):
	case r.Method == http.MethodPost && r.URL.Query().Get("wait") == "true":
		d.made++
		id = fmt.Sprint(1442153289410674717 + d.made)
		d.messages[id] = string(body)
		_, _ = fmt.Fprintf(w, `{"id":"%s","type":0,"content":"","embeds":[{"description":"%s"}]}`, id, strings.Repeat("x", 2*maxReply))
	case r.Method == http.MethodPatch && d.messages[id] != "":
		d.messages[id] = string(body)
		_, _ = fmt.Fprintf(w, `{"id":"%s"}`, id)
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"message": "Unknown Message", "code": 10008}`)
	}
}

// RoundTrip lets a client in a bubble, where there are no sockets, talk to the chat.
func (d *discord) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Result(), nil
}

// since returns the requests after the first n, and the only message.
func (d *discord) since(n int) (asked []string, shown statusMessage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, body := range d.messages {
		_ = json.Unmarshal([]byte(body), &shown)
	}
	return d.asked[n:], shown
}

func (d *discord) change(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

// statusHook is a hook whose only message is its status.
func statusHook(change ...func(*Hook)) []Hook {
	h := Hook{Name: "board", URL: "https://discord.example/api/webhooks/1/t0ken?thread_id=5", Format: Discord, Status: true}
	for _, c := range change {
		c(&h)
	}
	return []Hook{h}
}

// onBoard runs a dispatcher that keeps a status message in a chat.
func onBoard(t *testing.T, chat *discord, posts storage.Posts, test func(f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, statusHook())
		f.d.through, f.d.opt.Posts = chat, posts
		f.run(test)
	})
}

const (
	postURL  = "POST /api/webhooks/1/t0ken?thread_id=5&wait=true"
	patchURL = "PATCH /api/webhooks/1/t0ken/messages/%d?thread_id=5"
	firstID  = 1442153289410674718
)

// pass lets time pass and fails unless the chat got these requests meanwhile.
func (d *discord) pass(t *testing.T, wait time.Duration, want ...string) statusMessage {
	t.Helper()
	before := 0
	d.change(func() { before = len(d.asked) })
	time.Sleep(wait)
	synctest.Wait()
	got, shown := d.since(before)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("in %v the chat got\n%q, want\n%q", wait, got, want)
	}
	return shown
}

func TestStatusIsEditedInPlace(t *testing.T) {
	chat, posts := newDiscord(), &memoryPosts{ids: make(map[string]string)}
	edit := fmt.Sprintf(patchURL, firstID)
	onBoard(t, chat, posts, func(f *fixture) {
		if shown := chat.pass(t, statusEvery+time.Second, postURL); shown.Embeds[0].Title != "20 players on 1 server" {
			t.Errorf("message %+v", shown)
		}
		for i := range 58 { // a change each second: one edit a minute
			f.put(listing{port: 2000, name: "Inn", players: fmt.Sprint(i)})
			time.Sleep(time.Second)
		}
		shown := chat.pass(t, 2*time.Second, edit)
		want := field{"Title of gmtest: 77 players on 2 servers", "**Inn** 57/16, DM\\_Deck\n**here already** 20/16, DM\\_Deck\n"}
		if e := shown.Embeds[0]; len(e.Fields) != 1 || e.Fields[0] != want {
			t.Errorf("message %+v, want the field %+v", shown, want)
		}
		chat.pass(t, statusAgain-statusEvery-time.Second) // nothing changed
		chat.pass(t, 2*statusEvery, edit)                 // the daemon is still there
	})
	// After a restart the message is found, and one that a moderator deleted is made again.
	onBoard(t, chat, posts, func(*fixture) {
		chat.pass(t, statusEvery+time.Second, edit)
		chat.change(func() { clear(chat.messages) })
		chat.pass(t, statusAgain, edit, postURL)
		chat.pass(t, statusAgain, fmt.Sprintf(patchURL, firstID+1))
	})
	for i := 1; i < len(chat.at); i++ {
		if gap := chat.at[i].Sub(chat.at[i-1]); gap > 0 && gap < statusEvery {
			t.Errorf("request %d came %v after the one before", i, gap)
		}
	}
}

func TestStatusThatIsRefused(t *testing.T) {
	answer := func(status int, after, body string) func(http.ResponseWriter) bool {
		return func(w http.ResponseWriter) bool {
			w.Header().Set("Retry-After", after)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
			return true
		}
	}
	for name, tc := range map[string]struct {
		refuse func(http.ResponseWriter) bool
		again  time.Duration // when the next request comes; 0: never
	}{
		"too many":        {answer(429, "150.5", `{"message": "You are being rate limited.", "retry_after": 150.5}`), 150*time.Second + 500*time.Millisecond},
		"down":            {answer(502, "", ""), statusEvery},
		"webhook deleted": {answer(404, "", `{"message": "Unknown Webhook", "code": 10015}`), 0},
		"wrong token":     {answer(401, "", `{"message": "Invalid Webhook Token", "code": 50027}`), 0},
	} {
		t.Run(name, func(t *testing.T) {
			chat := newDiscord()
			chat.refuse = tc.refuse
			onBoard(t, chat, &memoryPosts{ids: make(map[string]string)}, func(f *fixture) {
				chat.pass(t, statusEvery+time.Millisecond, postURL)
				if tc.again == 0 {
					chat.pass(t, time.Hour)
				} else {
					chat.pass(t, tc.again-2*time.Millisecond)
					chat.change(func() { chat.refuse = nil })
					chat.pass(t, 3*time.Millisecond, postURL)
				}
				if log := f.log.String(); strings.Contains(log, "t0ken") || strings.Count(log, "status message") != 1 {
					t.Errorf("log %s", log)
				}
			})
		})
	}
}

// A store that takes nothing does not lead to a message each minute.
func TestStatusWithoutStore(t *testing.T) {
	chat, posts := newDiscord(), &memoryPosts{ids: make(map[string]string), fail: errors.New("disk full")}
	onBoard(t, chat, posts, func(*fixture) {
		chat.pass(t, 5*statusEvery, postURL)
		posts.refuse(nil)
		chat.pass(t, statusEvery+time.Second, fmt.Sprintf(patchURL, firstID))
	})
}

func TestStatusOfACluster(t *testing.T) {
	chat, posts := newDiscord(), &memoryPosts{ids: make(map[string]string)}
	inCluster(t, statusHook(), func(n *nodes) {
		chat.pass(t, 5*statusEvery, postURL)
		for name, f := range n.all { // another node edits the message of the one that is gone
			if f.d.mine("board/" + onlyPlace(t, posts)) {
				n.net.Kill(name)
				f.stop()
				break
			}
		}
		chat.pass(t, statusAgain, fmt.Sprintf(patchURL, firstID))
	}, func(f *fixture) { f.d.through, f.d.opt.Posts = chat, posts })
}

func onlyPlace(t *testing.T, posts *memoryPosts) (place string) {
	t.Helper()
	posts.mu.Lock()
	defer posts.mu.Unlock()
	for place = range posts.ids {
	}
	if len(posts.ids) != 1 || strings.Contains(place, "t0ken") {
		t.Fatalf("the store has %v", posts.ids)
	}
	return place
}

// The chat is asked over a socket too, as Discord is.
func TestStatusOverSockets(t *testing.T) {
	chat := newDiscord()
	server := httptest.NewServer(chat)
	defer server.Close()
	h := statusHook(func(h *Hook) {
		h.URL = server.URL + "/api/webhooks/1/t0ken?thread_id=5"
		h.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})[0]
	posts := &memoryPosts{ids: make(map[string]string)}
	d := New(Options{Listing: newList(), Posts: posts})
	d.metrics.Store(newMetrics(nil, d.queued))
	b := &board{worker: d.newWorker(&h), dispatcher: d, place: "here"}
	for _, now := range []time.Time{time.Now(), time.Now().Add(statusAgain)} {
		if err := b.update(t.Context(), now); err != nil {
			t.Fatal(err)
		}
	}
	asked, shown := chat.since(0)
	if want := postURL + ", " + fmt.Sprintf(patchURL, firstID); strings.Join(asked, ", ") != want || len(shown.Embeds) != 1 || shown.Mentions.Parse == nil {
		t.Errorf("the chat got %q and shows %+v", asked, shown)
	}
}

// newList returns an empty list.
func newList() part.Listing { return part.Listing{Registry: master.NewRegistry(master.Limits{})} }

// putPlayed lists a server with players that have names.
func putPlayed(t testing.TB, r *master.Registry, i int, game, name string, players []string) {
	t.Helper()
	at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{11, byte(i >> 8), byte(i), 1}), 3000)
	s := master.Server{Origin: qr2.Origin, Key: master.Key{Source: at}, Public: at, Game: game, Seen: time.Now()}
	var rep master.Report
	for _, v := range []string{name, fmt.Sprint(len(players)), "64", name} {
		rep.Rule([]byte(v))
	}
	rep.SetRules(r.Names([]string{"hostname", "numplayers", "maxplayers", "mapname"}))
	for _, p := range players {
		rep.Player([]byte(p))
	}
	rep.SetPlayers(r.Names([]string{"player_"}), len(players))
	if err := rep.Into(&s); err != nil {
		t.Fatal(err)
	}
	if err := r.Put(s); err != nil {
		t.Fatal(err)
	}
}

func TestStatusText(t *testing.T) {
	list := newList()
	d := New(Options{Listing: list})
	putPlayed(t, list.Registry, 1, "gmtest", "The *Inn*", []string{"Ann", "@everyone", ""})
	putPlayed(t, list.Registry, 2, "gmtest", "Empty", nil)
	putPlayed(t, list.Registry, 3, "gmother", "Else", []string{"Bob"})
	e := d.statusEmbed(&Hook{Games: []string{"gmtest"}})
	want := field{"gmtest: 3 players on 2 servers", `**The \*Inn\*** 3/64, The \*Inn\*: Ann, \@everyone` + "\n1 server without players"}
	if e.Title != "3 players on 2 servers" || len(e.Fields) != 1 || e.Fields[0] != want {
		t.Errorf("got %+v, want %+v", e, want)
	}
	if e := d.statusEmbed(&Hook{}); len(e.Fields) != 2 || e.Fields[0].Name[:6] != "gmtest" || e.Title != "4 players on 3 servers" {
		t.Errorf("of all games: %+v", e)
	}
	if e := d.statusEmbed(&Hook{Games: []string{"gmnone"}}); len(e.Fields) != 0 || e.Title != "0 players on 0 servers" {
		t.Errorf("of a game without servers: %+v", e)
	}
}

func TestStatusBesideEvents(t *testing.T) {
	hooks, err := Hooks([]configs.Webhook{{Format: "discord", Events: []string{"up", "status"}}, {Format: "discord", Events: []string{"status"}}, {Format: "discord"}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"status true, up true, down false", "status true, up false, down false", "status false, up true, down true"} {
		h := &hooks[i]
		if got := fmt.Sprintf("status %t, up %t, down %t", h.Status, h.wants(ServerUp, "gmtest"), h.wants(ServerDown, "gmtest")); got != want {
			t.Errorf("hook %d: %s, want %s", i, got, want)
		}
	}
}

// Whatever servers and players call themselves, Discord takes the message.
func TestStatusLimits(t *testing.T) {
	for _, letter := range []string{"x", "*", "ä", "\U0001F600"} {
		list := newList()
		d := New(Options{Listing: list, Title: func(game string) string { return strings.Repeat(letter, 100) + game }})
		for i := range 600 {
			putPlayed(t, list.Registry, i, fmt.Sprint("gm", i%40), strings.Repeat(letter, 200), strings.Split(strings.Repeat(strings.Repeat(letter, 40)+" ", i%17), " "))
		}
		e := d.statusEmbed(&Hook{})
		size := length(e.Title)
		for _, f := range e.Fields {
			size += length(f.Name) + length(f.Value)
			if length(f.Name) > maxFieldName || length(f.Value) > maxValue || f.Name == "" || f.Value == "" {
				t.Errorf("%s: a field has %d and %d letters", letter, length(f.Name), length(f.Value))
			}
		}
		if last := e.Fields[len(e.Fields)-1]; len(e.Fields) > maxFields || size > 6000 || size < 4000 || last.Name != "And more" {
			t.Errorf("%s: %d fields with %d letters, the last is %+v", letter, len(e.Fields), size, last)
		}
	}
	list := newList()
	for i := range 60 {
		putPlayed(t, list.Registry, i, fmt.Sprint("gm", i), "x", nil)
	}
	if e := New(Options{Listing: list}).statusEmbed(&Hook{}); len(e.Fields) != maxFields || e.Fields[maxFields-1].Value != "36 games with servers" {
		t.Errorf("%d fields: %+v", len(e.Fields), e.Fields[len(e.Fields)-1])
	}
}
